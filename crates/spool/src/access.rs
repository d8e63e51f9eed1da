//! Whether a store may be written.

/// What may be done with a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// Everything.
    ReadWrite,
    /// Reading only: the file system or its permissions say so.
    ReadOnly {
        /// Why, as a clause.
        reason: String,
    },
    /// Reading only: a newer build wrote the store.
    Newer {
        /// Which schema it has, as a clause.
        reason: String,
    },
}

impl Access {
    /// Returns why the store may not be written; none when it may.
    pub fn denial(&self) -> Option<&str> {
        match self {
            Self::ReadWrite => None,
            Self::ReadOnly { reason } | Self::Newer { reason } => Some(reason),
        }
    }
}
