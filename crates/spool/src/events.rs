//! The published events of a session, in order.

use std::io;
use std::path::PathBuf;

use creel_record::SessionId;
use creel_record::event::Event;
use creel_record::snapshot::LogPosition;
use creel_sys::fs::{FsFile, OpenHow};

use crate::damage::Damage;
use crate::error::ReadError;
use crate::store::Store;
use crate::walk::{Bounds, Start, Step, Walk};

/// Where to begin reading events.
#[derive(Clone, Copy, Debug)]
pub enum From {
    /// At the first one.
    Start,
    /// After this sequence.
    After(u64),
    /// After this position, reading nothing before it. One that the log does not have any more,
    /// since it was healed, counts by its sequence.
    Position(LogPosition),
}

/// One published event with its place.
#[derive(Clone, Debug)]
pub struct StoredEvent {
    /// The event.
    pub event: Event,
    /// The position after it: with it, a follower goes on.
    pub position: LogPosition,
}

/// Published events, one by one. What is appended later is not among them. Ends with an error at
/// the first damage: nothing behind it is given out.
#[derive(Debug)]
pub struct Events {
    id: SessionId,
    path: PathBuf,
    published: LogPosition,
    after: u64,
    walk: Option<Walk<Box<dyn FsFile>>>,
    /// True while nothing shows that the log has the position that reading began at.
    is_position_open: bool,
}

impl Store {
    /// Reads the published events of a session.
    ///
    /// # Errors
    /// As [`Store::read`].
    pub fn events(&self, id: SessionId, from: From) -> Result<Events, ReadError> {
        let published = self.read(id)?.snapshot.log;
        let path = self.log_path(id);
        let log = self.fs().open(&path, OpenHow::Read).map_err(ReadError::io(&path))?;
        let (start, after) = match from {
            From::Start => (Start::of_log(id), 0),
            From::After(sequence) => (Start::of_log(id), sequence),
            From::Position(position) => (Start::after(&position), position.sequence),
        };
        let end = published.len_bytes;
        let walk = Walk::new(log, id, start, Bounds { end, published_bytes: end });
        let walk = (after < published.sequence).then_some(walk);
        let is_position_open = matches!(from, From::Position(_));
        Ok(Events { id, path, published, after, walk, is_position_open })
    }
}

impl Events {
    /// Returns up to where events are published.
    pub fn published(&self) -> &LogPosition {
        &self.published
    }
}

impl Iterator for Events {
    type Item = Result<StoredEvent, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let step = self.walk.as_mut()?.next();
            match step {
                Ok(Some(Step::Good(good))) => {
                    self.is_position_open = false;
                    if good.event.sequence > self.after {
                        let position = good.position();
                        return Some(Ok(StoredEvent { event: good.event, position }));
                    }
                }
                Ok(Some(Step::Bad(_))) | Ok(None) if self.is_position_open => {
                    self.is_position_open = false;
                    self.walk.as_mut()?.restart(Start::of_log(self.id));
                }
                Ok(None) => {
                    self.walk = None;
                    return None;
                }
                Ok(Some(Step::Bad(bad))) => {
                    self.walk = None;
                    let damage = Damage::Line(bad.fault);
                    return Some(Err(ReadError::Damaged { id: self.id, damage }));
                }
                Err(error) => return Some(Err(self.failed(error))),
            }
        }
    }
}

impl Events {
    fn failed(&mut self, error: io::Error) -> ReadError {
        self.walk = None;
        ReadError::io(&self.path)(error)
    }
}
