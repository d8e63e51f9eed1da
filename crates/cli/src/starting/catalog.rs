//! The catalog as this user has it: the built-in one with the user's own file on top.

use std::io;
use std::path::Path;

use creel_harness::Catalog;

use crate::codes::Code;
use crate::report::{Report, chain};

/// Bytes of a catalog file that are read; a hundred times what anyone writes by hand.
const MAX_CATALOG_BYTES: u64 = 4 * 1024 * 1024;

/// Reads `catalog.toml` of `config_dir` over the built-in catalog; a missing file is no file.
///
/// # Errors
/// When the file can't be read, or on its first mistake, with file, line and column.
pub(crate) fn load(config_dir: &Path) -> Result<Catalog, Report> {
    let path = config_dir.join("catalog.toml");
    let shown = path.display().to_string();
    match read_bounded(&path, MAX_CATALOG_BYTES) {
        Ok(text) => Catalog::builtin().with_overrides(&text, &shown).map_err(|error| {
            Report::new(Code::CatalogInvalid, error.to_string()).next(format!("edit {shown}"))
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Catalog::builtin()),
        Err(error) => {
            let message = format!("can't read the catalog {shown}: {}", chain(&error));
            Err(Report::new(Code::CatalogInvalid, message).next(format!("ls -l {shown}")))
        }
    }
}

/// Reads a text file of the user's of at most `max_bytes` bytes.
pub(crate) fn read_bounded(path: &Path, max_bytes: u64) -> io::Result<String> {
    use std::io::Read as _;
    let mut text = String::new();
    let read = std::fs::File::open(path)?.take(max_bytes + 1).read_to_string(&mut text)?;
    if read as u64 > max_bytes {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("more than {max_bytes} bytes"),
        ));
    }
    Ok(text)
}
