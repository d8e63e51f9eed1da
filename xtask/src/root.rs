//! Where the workspace is.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Returns the workspace's root: the parent of this package, as cargo names it at run time.
pub(crate) fn find() -> Result<PathBuf> {
    let package = env::var_os("CARGO_MANIFEST_DIR")
        .context("CARGO_MANIFEST_DIR is not set: start this as `cargo xtask VERB`")?;
    let package = PathBuf::from(package);
    package.parent().map(Path::to_owned).context("the xtask package has no parent folder")
}
