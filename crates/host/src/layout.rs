//! The layout: what a change of it may be, and what a change makes of it. Pure.

use std::collections::BTreeSet;

use creel_api::layout::{
    LAYOUT_VERSION, Layout, LayoutChange, MAX_LAYOUT_ID_BYTES, MAX_LAYOUT_TITLE_BYTES, MAX_PANES,
    MAX_SPLIT_DEPTH, MAX_TABS, Node, Pane, RATIO_WHOLE, Tab,
};
use creel_record::SessionId;
use serde::{Deserialize, Serialize};
use thiserror::Error;

pub(crate) mod book;

/// Why a layout is none.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LayoutError {
    /// Another build's.
    #[error("it has version {found}, not {LAYOUT_VERSION}")]
    Version {
        /// Its version.
        found: u32,
    },
    /// More than anybody uses.
    #[error("it has more than {limit} {what}")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// The bound.
        limit: usize,
    },
    /// Splits within splits, without end.
    #[error("tab '{tab}' nests more than {MAX_SPLIT_DEPTH} splits")]
    TooDeep {
        /// The tab.
        tab: String,
    },
    /// A name that is empty, too long or holds more than letters, digits, `-`, `_` and `.`.
    #[error("'{id}' is no id of a {what}")]
    Id {
        /// Of what.
        what: &'static str,
        /// The id, cut.
        id: String,
    },
    /// Two things of one name.
    #[error("two {what}s have the id '{id}'")]
    Twice {
        /// What.
        what: &'static str,
        /// The id.
        id: String,
    },
    /// A title that is too long, or holds what would command a terminal.
    #[error(
        "the title of '{id}' is longer than {MAX_LAYOUT_TITLE_BYTES} bytes or holds control characters"
    )]
    Title {
        /// Whose.
        id: String,
    },
    /// A part of nothing or more than all.
    #[error("the ratio {ratio} of a split in tab '{tab}' is not between 1 and 999")]
    Ratio {
        /// The tab.
        tab: String,
        /// The ratio.
        ratio: u16,
    },
    /// A pane names something that is no session's id.
    #[error("pane '{pane}' names '{session}', which is no session id")]
    Session {
        /// The pane.
        pane: String,
        /// What it names, cut.
        session: String,
    },
    /// The focus is on nothing.
    #[error("the focus of tab '{tab}' is on no pane of it")]
    Focus {
        /// The tab.
        tab: String,
    },
    /// No tab, or one that isn't there, is shown.
    #[error("the active tab is none of the tabs")]
    Active,
}

/// Why a change was not made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ChangeError {
    /// It would make something that is no layout.
    #[error("the layout is invalid")]
    Invalid(#[from] LayoutError),
    /// It changes another revision than the one there is.
    #[error("the layout has revision {current}, not {wanted}")]
    Revision {
        /// The one there is.
        current: u64,
        /// The one that was named.
        wanted: u64,
    },
}

/// A layout and how often it was changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Stored {
    pub(crate) revision: u64,
    pub(crate) layout: Layout,
}

/// Returns what a change makes of a layout; nothing of it is kept that the change doesn't name.
pub(crate) fn change(current: &Stored, change: &LayoutChange) -> Result<Stored, ChangeError> {
    if let Some(wanted) = change.revision.filter(|wanted| *wanted != current.revision) {
        return Err(ChangeError::Revision { current: current.revision, wanted });
    }
    validate(&change.layout)?;
    let revision = current.revision.saturating_add(1);
    Ok(Stored { revision, layout: change.layout.clone() })
}

/// Notes the title of a session at the panes that show it; none when that changes nothing. It is no
/// change of a client's, and so no new revision.
pub(crate) fn titled(current: &Stored, session: &str, title: &str) -> Option<Stored> {
    let title = clean(title);
    let mut next = current.clone();
    let mut has_changed = false;
    for tab in &mut next.layout.tabs {
        each_pane_mut(&mut tab.root, &mut |pane| {
            if pane.session.as_deref() == Some(session) && pane.title.as_deref() != Some(&title) {
                pane.title = Some(title.clone());
                has_changed = true;
            }
        });
    }
    has_changed.then_some(next)
}

/// Returns the sessions that are attached, each once.
pub(crate) fn sessions(layout: &Layout) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for tab in &layout.tabs {
        each_pane(&tab.root, &mut |pane| found.extend(pane.session.clone()));
    }
    found
}

/// Checks a layout whole.
///
/// # Errors
/// The first thing that is wrong with it.
pub fn validate(layout: &Layout) -> Result<(), LayoutError> {
    if layout.version != LAYOUT_VERSION {
        return Err(LayoutError::Version { found: layout.version });
    }
    if layout.tabs.len() > MAX_TABS {
        return Err(LayoutError::TooMany { what: "tabs", limit: MAX_TABS });
    }
    let mut names = Names::default();
    for tab in &layout.tabs {
        names.tab(tab)?;
    }
    let is_shown = match &layout.active {
        Some(active) => layout.tabs.iter().any(|tab| tab.id == *active),
        None => layout.tabs.is_empty(),
    };
    if is_shown { Ok(()) } else { Err(LayoutError::Active) }
}

/// The names that were met so far.
#[derive(Default)]
struct Names {
    tabs: BTreeSet<String>,
    panes: BTreeSet<String>,
}

impl Names {
    fn tab(&mut self, tab: &Tab) -> Result<(), LayoutError> {
        check_id("tab", &tab.id)?;
        check_title(&tab.id, tab.title.as_ref())?;
        if !self.tabs.insert(tab.id.clone()) {
            return Err(LayoutError::Twice { what: "tab", id: tab.id.clone() });
        }
        let mut has_focus = false;
        // A stack of our own: the depth is checked before it is gone into.
        let mut open = vec![(&tab.root, 0)];
        while let Some((node, depth)) = open.pop() {
            match node {
                Node::Pane(pane) => {
                    self.pane(pane)?;
                    has_focus |= pane.id == tab.focus;
                }
                Node::Split(_) if depth == MAX_SPLIT_DEPTH => {
                    return Err(LayoutError::TooDeep { tab: tab.id.clone() });
                }
                Node::Split(split) => {
                    if split.ratio == 0 || split.ratio >= RATIO_WHOLE {
                        let (tab, ratio) = (tab.id.clone(), split.ratio);
                        return Err(LayoutError::Ratio { tab, ratio });
                    }
                    open.push((&split.second, depth + 1));
                    open.push((&split.first, depth + 1));
                }
            }
        }
        if has_focus { Ok(()) } else { Err(LayoutError::Focus { tab: tab.id.clone() }) }
    }

    fn pane(&mut self, pane: &Pane) -> Result<(), LayoutError> {
        check_id("pane", &pane.id)?;
        check_title(&pane.id, pane.title.as_ref())?;
        if let Some(session) = &pane.session
            && session.parse::<SessionId>().is_err()
        {
            let session = clean(session).chars().take(MAX_LAYOUT_ID_BYTES).collect();
            return Err(LayoutError::Session { pane: pane.id.clone(), session });
        }
        if !self.panes.insert(pane.id.clone()) {
            return Err(LayoutError::Twice { what: "pane", id: pane.id.clone() });
        }
        if self.panes.len() > MAX_PANES {
            return Err(LayoutError::TooMany { what: "panes", limit: MAX_PANES });
        }
        Ok(())
    }
}

fn check_id(what: &'static str, id: &str) -> Result<(), LayoutError> {
    let is_good = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if (1..=MAX_LAYOUT_ID_BYTES).contains(&id.len()) && id.bytes().all(is_good) {
        return Ok(());
    }
    let id = clean(id).chars().take(MAX_LAYOUT_ID_BYTES).collect();
    Err(LayoutError::Id { what, id })
}

fn check_title(id: &str, title: Option<&String>) -> Result<(), LayoutError> {
    match title {
        Some(title) if title.len() > MAX_LAYOUT_TITLE_BYTES || title.contains(char::is_control) => {
            Err(LayoutError::Title { id: id.to_owned() })
        }
        _ => Ok(()),
    }
}

/// Returns a text without what would command a terminal, and cut to a title's length.
fn clean(text: &str) -> String {
    let mut text: String = text.chars().filter(|c| !c.is_control()).collect();
    text.truncate(text.floor_char_boundary(MAX_LAYOUT_TITLE_BYTES));
    text
}

fn each_pane(node: &Node, seen: &mut impl FnMut(&Pane)) {
    match node {
        Node::Pane(pane) => seen(pane),
        Node::Split(split) => {
            each_pane(&split.first, seen);
            each_pane(&split.second, seen);
        }
    }
}

fn each_pane_mut(node: &mut Node, seen: &mut impl FnMut(&mut Pane)) {
    match node {
        Node::Pane(pane) => seen(pane),
        Node::Split(split) => {
            each_pane_mut(&mut split.first, seen);
            each_pane_mut(&mut split.second, seen);
        }
    }
}

#[cfg(test)]
mod tests;
