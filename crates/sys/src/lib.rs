//! Creel sys.
