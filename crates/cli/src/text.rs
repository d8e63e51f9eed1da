//! Text given to a verb: as an argument, on standard input, or in a file. Long text never has to
//! travel in arguments, which other users of the machine can read and which the kernel bounds.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use creel_record::limits::MAX_PAYLOAD_BYTES;

use crate::codes::Code;
use crate::report::{Report, chain};

/// The arguments of a verb that takes a text.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct TextArguments {
    /// The text; `-` reads it from standard input
    #[arg(value_name = "TEXT", allow_hyphen_values = true, conflicts_with = "file")]
    text: Option<String>,
    /// More words of the text
    #[arg(value_name = "WORDS", hide = true, conflicts_with = "file")]
    words: Vec<String>,
    /// Read the text from this file
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

impl TextArguments {
    /// Returns the text; none when none was given in any way.
    ///
    /// # Errors
    /// When it can't be read, isn't UTF-8, or is over what any text of the record may have.
    pub(crate) fn read(&self) -> Result<Option<String>, Report> {
        if let Some(path) = &self.file {
            return from_file(path).map(Some);
        }
        match self.text.as_deref() {
            None => Ok(None),
            Some("-") if self.words.is_empty() => from_stdin().map(Some),
            Some(first) => Ok(Some(joined(first, &self.words))),
        }
    }

    /// Returns the text, which must be given.
    ///
    /// # Errors
    /// As [`TextArguments::read`], and when none was given.
    pub(crate) fn required(&self, verb: &str, what: &str) -> Result<String, Report> {
        self.read()?.ok_or_else(|| {
            Report::new(Code::Usage, format!("{verb} needs {what}: as an argument, `-` or --file"))
                .next(format!("creel {verb} --help"))
        })
    }
}

/// Joins the words of a text that was not quoted.
pub(crate) fn joined(first: &str, words: &[String]) -> String {
    let mut text = first.to_owned();
    for word in words {
        text.push(' ');
        text.push_str(word);
    }
    text
}

/// Reads a text file.
///
/// # Errors
/// As [`TextArguments::read`].
pub(crate) fn from_file(path: &Path) -> Result<String, Report> {
    let name = path.display().to_string();
    let file = std::fs::File::open(path).map_err(|error| unreadable(&name, &error))?;
    bounded(file, &name)
}

/// Reads standard input to its end.
///
/// # Errors
/// As [`TextArguments::read`].
pub(crate) fn from_stdin() -> Result<String, Report> {
    bounded(io::stdin().lock(), "standard input")
}

fn bounded(source: impl Read, name: &str) -> Result<String, Report> {
    let mut bytes = Vec::new();
    let limit = MAX_PAYLOAD_BYTES as u64 + 1;
    source.take(limit).read_to_end(&mut bytes).map_err(|error| unreadable(name, &error))?;
    if bytes.len() > MAX_PAYLOAD_BYTES {
        let message = format!("{name} has over {MAX_PAYLOAD_BYTES} bytes; nothing was changed");
        return Err(Report::new(Code::TooLong, message).next("creel session artifact PATH"));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let message = format!("{name} is not UTF-8 at byte {at}; nothing was changed");
        Report::new(Code::NonUtf8, message).next("iconv -t UTF-8 FILE")
    })
}

fn unreadable(name: &str, error: &io::Error) -> Report {
    Report::new(Code::TextUnreadable, format!("can't read {name}: {}", chain(error)))
        .next("the same command with a file that can be read")
}
