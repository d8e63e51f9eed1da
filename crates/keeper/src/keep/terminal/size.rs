//! The size policy: the size is that of the viewer that last came, typed or resized.
//!
//! When that one leaves, it is that of the one who did so before it. Without any viewer it stays
//! as it is. Read-only viewers have no say.

use creel_api::plan::TerminalSize;
use creel_api::terminal::TerminalStatus;

/// Who said which size.
#[derive(Debug)]
pub(super) struct Sizes {
    current: TerminalSize,
    from: From,
    /// Viewers and their sizes, the one that acted last at the end.
    viewers: Vec<(u64, TerminalSize)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum From {
    Plan,
    Request,
    Viewer(u64),
}

impl Sizes {
    pub(super) fn new(size: TerminalSize) -> Self {
        Self { current: size, from: From::Plan, viewers: Vec::new() }
    }

    pub(super) fn current(&self) -> TerminalSize {
        self.current
    }

    pub(super) fn from(&self) -> String {
        match self.from {
            From::Plan => "plan".to_owned(),
            From::Request => "request".to_owned(),
            From::Viewer(id) => format!("viewer {id}"),
        }
    }

    pub(super) fn of(&self, viewer: u64) -> Option<TerminalSize> {
        self.viewers.iter().find(|(id, _)| *id == viewer).map(|(_, size)| *size)
    }

    /// A viewer came, or its terminal has another size.
    pub(super) fn say(&mut self, viewer: u64, size: TerminalSize) {
        self.viewers.retain(|(id, _)| *id != viewer);
        self.viewers.push((viewer, size));
        self.follow_last();
    }

    /// A viewer typed.
    pub(super) fn act(&mut self, viewer: u64) {
        if self.viewers.last().is_some_and(|(id, _)| *id == viewer) {
            return self.follow_last();
        }
        if let Some(size) = self.of(viewer) {
            self.say(viewer, size);
        }
    }

    /// Somebody asked for a size by name; it holds until a viewer acts.
    pub(super) fn request(&mut self, size: TerminalSize) {
        (self.current, self.from) = (size, From::Request);
    }

    /// Forgets viewers that left.
    pub(super) fn keep(&mut self, stays: impl Fn(u64) -> bool) {
        self.viewers.retain(|(id, _)| stays(*id));
        if let From::Viewer(id) = self.from
            && !stays(id)
        {
            self.follow_last();
        }
    }

    fn follow_last(&mut self) {
        if let Some((id, size)) = self.viewers.last() {
            (self.current, self.from) = (*size, From::Viewer(*id));
        }
    }

    pub(super) fn first_status(&self) -> TerminalStatus {
        TerminalStatus {
            size: self.current,
            size_from: self.from(),
            title: None,
            offset: 0,
            output_at_ms: None,
            doubt: None,
            waiting_input_bytes: 0,
            viewers: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    enum Do {
        Say(u64, u16),
        Act(u64),
        Leave(u64),
        Request(u16),
    }
    use Do::{Act, Leave, Request, Say};

    fn check(steps: &[Do], expected: &str) {
        let size = |columns| TerminalSize { columns, lines: 24 };
        let mut sizes = Sizes::new(size(80));
        for step in steps {
            match step {
                Say(viewer, columns) => sizes.say(*viewer, size(*columns)),
                Act(viewer) => sizes.act(*viewer),
                Leave(viewer) => sizes.keep(|id| id != *viewer),
                Request(columns) => sizes.request(size(*columns)),
            }
        }
        assert_eq!(format!("{} of {}", sizes.current().columns, sizes.from()), expected);
    }

    #[test]
    fn the_viewer_that_acted_last_decides() {
        check(&[], "80 of plan");
        check(&[Say(1, 100)], "100 of viewer 1");
        check(&[Say(1, 100), Say(2, 60)], "60 of viewer 2");
        check(&[Say(1, 100), Say(2, 60), Act(1)], "100 of viewer 1");
        check(&[Say(1, 100), Say(2, 60), Act(1), Act(3)], "100 of viewer 1");
        check(&[Say(1, 100), Say(2, 60), Leave(2)], "100 of viewer 1");
        check(&[Say(1, 100), Say(2, 60), Leave(1)], "60 of viewer 2");
        check(&[Say(1, 100), Leave(1)], "100 of viewer 1");
        check(&[Say(1, 100), Request(70)], "70 of request");
        check(&[Say(1, 100), Request(70), Act(1)], "100 of viewer 1");
    }
}
