//! Whether a store may be written.

/// What may be done with a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// Everything.
    ReadWrite,
    /// Reading only.
    ReadOnly {
        /// Why, as a clause.
        reason: String,
    },
}
