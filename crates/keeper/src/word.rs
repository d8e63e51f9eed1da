//! What a holder tells its launcher, once.

use std::error::Error;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;

use creel_sys::Deadline;
use creel_sys::poll::wait_readable;
use creel_sys::process::ProcessIdentity;
use serde::{Deserialize, Serialize};

/// The longest word in bytes; a path and a reason fit many times.
const MAX_WORD_BYTES: u64 = 64 * 1024;

/// How the start went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Word {
    /// The agent runs.
    Spawned { agent: ProcessIdentity, holder: ProcessIdentity },
    /// Nothing runs.
    Failed { reason: String },
}

impl Word {
    pub(crate) fn write(&self, pipe: &mut File) -> io::Result<()> {
        pipe.write_all(&serde_json::to_vec(self)?)
    }

    /// Waits for the word; none when the holder died without one or the deadline passed.
    pub(crate) fn read(mut pipe: &File, deadline: Deadline) -> io::Result<Option<Self>> {
        let mut bytes = Vec::new();
        let mut chunk = [0; 4096];
        loop {
            if wait_readable(&[pipe.as_fd()], deadline.remaining())?.is_empty() {
                return Ok(None);
            }
            match pipe.read(&mut chunk)? {
                0 => return Ok(serde_json::from_slice(&bytes).ok()),
                count => bytes.extend_from_slice(&chunk[..count]),
            }
            if bytes.len() as u64 > MAX_WORD_BYTES {
                return Ok(None);
            }
        }
    }
}

/// Returns an error with its sources in one line.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
