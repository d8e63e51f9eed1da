//! Opening the store that a verb uses.

use std::path::Path;

use crate::codes::Code;
use crate::context::Context;
use crate::report::Report;

impl Context {
    /// Creates a store at `root`; one that is there stays as it is.
    pub(crate) fn create_at(&self, root: &Path) -> Result<(), Report> {
        Err(Report::new(Code::Internal, format!("no store at {} yet", root.display())))
    }
}
