//! Messages of holder and keeper, which go to the log of their run.

/// Writes a line to standard error. Unlike `eprintln!` it does not panic when that can't be
/// written: the log may lie on the disk that is full.
macro_rules! say {
    ($($arg:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($arg)*);
    }};
}

pub(crate) use say;
