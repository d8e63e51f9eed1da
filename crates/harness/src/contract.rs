//! The texts an agent is given: the contract of its session, and what starts its later runs.
//!
//! One voice for every harness; only the way to call a verb differs by channel. No text holds a
//! double opening bracket, which agents and scripted models may take for markup.

use std::fmt::Write as _;

use crate::entry::Channel;

/// Re-prompts before a turn counts as failed-unreturned (the record layer's rule).
pub const MAX_REPROMPTS: u32 = 2;

/// What kind of session the agent works for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape<'a> {
    /// A standing session without a parent, started by a bare launch; nobody waits for it.
    Peer,
    /// A session without a parent whose result somebody waits for.
    Headless,
    /// A session started by another one, which collects its result.
    Subagent {
        /// The session that waits.
        parent_id: &'a str,
    },
}

/// Something that happened while the session rested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WakeNote<'a> {
    /// What happened, as a short noun such as `answer`, `message` or `result`.
    pub what: &'a str,
    /// Whom it comes from, such as `operator` or a session's id.
    pub from: &'a str,
    /// Its text.
    pub text: &'a str,
}

/// How this agent calls session verbs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Voice<'a> {
    pub(crate) channel: Channel,
    /// The harness's spelling of an MCP tool, with `NAME` in the tool's place.
    pub(crate) mcp_tools: &'a str,
    /// The directory to return into, for [`Channel::Dir`].
    pub(crate) return_dir: &'a str,
}

impl Voice<'_> {
    /// Returns the contract that opens a session's first prompt.
    pub(crate) fn contract(&self, session_id: &str, shape: Shape<'_>) -> String {
        let mut text = format!(
            "You work for Creel session {session_id}. The session outlives this process: it keeps \
             your results, keys and notes, and a later run may continue it.\n\n"
        );
        text.push_str(&self.verbs());
        text.push_str(
            "- Nothing you print is delivered to anyone. The only deliverable is the text you \
             return.\n",
        );
        text.push_str(&self.returns());
        text.push_str(
            "- Return exactly once, as your last action, then stop. A run that ends without a \
             return is prompted again at most twice; after that the turn is recorded as \
             failed-unreturned and has no result.\n\
             - What reaches the session while it rests arrives as the prompt of a new run.\n\
             - Others may work in this directory. Leave changes alone that you did not make.\n",
        );
        match shape {
            Shape::Peer => text.push_str(
                "- You are a peer: a standing session that nobody collects from. End a turn with \
                 an await unless the work is over for good.\n",
            ),
            Shape::Headless => text.push_str(
                "- Somebody waits for this result. End with a finish unless the task says to stay \
                 available.\n",
            ),
            Shape::Subagent { parent_id } => {
                // Writing to a string can't fail.
                let _ = writeln!(
                    text,
                    "- You are a subagent: session {parent_id} started you and collects what you \
                     return. Return data it can use, not conversation. End with a finish; an await \
                     only if the task grants it.\n\
                     - Never wait for a person. When something is missing, return what is missing.\n\
                     - Stay inside the task: its targets and bounds are all the context you share."
                );
            }
        }
        text
    }

    /// Returns the short form that opens a prompt to an agent that has the contract already.
    pub(crate) fn reminder(&self, session_id: &str) -> String {
        format!(
            "(Creel session {session_id}, a new turn. Its result, too, is only what you return.)\n"
        )
    }

    /// Returns the prompt for a run that ended without a return; `attempt` counts from 1.
    pub(crate) fn reprompt(&self, session_id: &str, attempt: u32) -> String {
        let mut text = format!(
            "Your last run for Creel session {session_id} ended without a return, so its work has \
             no result yet. This is re-prompt {attempt} of {MAX_REPROMPTS}.\n\
             If the work is done, return it now; if not, complete it first.\n"
        );
        text.push_str(&self.returns());
        if attempt >= MAX_REPROMPTS {
            text.push_str(
                "There is no further re-prompt: without a return now, the turn is recorded as \
                 failed-unreturned.\n",
            );
        }
        text
    }

    fn verbs(&self) -> String {
        match self.channel {
            Channel::Shell => "\
                - In your shell, `creel session VERB …` acts on this session; it needs no id.\n\
                - First: `creel session register \"<short title>\" \"<one sentence on the work>\"`. \
                Register again when the topic changes.\n\
                - In work of more than a few minutes: `creel session set phase <word>`. Also: \
                `creel session get <key>`, `creel session note \"<text>\"`, and \
                `creel session ask \"<question>\"`, which waits for the answer.\n"
                .to_owned(),
            Channel::Mcp => {
                let spelling = if self.mcp_tools == "NAME" {
                    String::new()
                } else {
                    format!(" (you may see them as `{}`)", self.mcp_tools.replace("NAME", "return"))
                };
                format!(
                    "- Session verbs are tools of the MCP server `creel`{spelling}: `register`, \
                     `return`, `set`, `get`, `note`, `ask`. They act on this session and need no \
                     id. The `creel` command in your shell may not reach the session.\n\
                     - First call `register` with a short title and one sentence on the work. \
                     Register again when the topic changes.\n\
                     - In work of more than a few minutes call `set` with the key `phase`. `ask` \
                     waits for the answer to a question.\n"
                )
            }
            Channel::Dir => String::new(),
        }
    }

    fn returns(&self) -> String {
        match self.channel {
            Channel::Shell => "\
                - Return by one of\n    \
                creel session return --finish \"<result>\"   (the work is done)\n    \
                creel session return --await \"<result>\"    (this turn is done, more may come)\n  \
                A long result goes in on standard input, with `-` in its place.\n"
                .to_owned(),
            Channel::Mcp => "\
                - Return by the tool `return` of the MCP server `creel`: with the result as a \
                finish (the work is done) or as an await (this turn is done, more may come).\n"
                .to_owned(),
            Channel::Dir => format!(
                "- Return by writing the result to a new file in {dir}, and then renaming it, in \
                 that directory, to `finish` (the work is done) or `await` (this turn is done, \
                 more may come).\n",
                dir = self.return_dir
            ),
        }
    }
}

/// Returns the prompt that wakes a resting session with everything that waits for it.
pub fn wake_text(session_id: &str, notes: &[WakeNote<'_>]) -> String {
    let mut text = format!("Creel session {session_id} is awake again. Since its last turn:\n");
    for note in notes {
        let _ = write!(text, "\n- {} from {}:\n", note.what, note.from);
        for line in note.text.lines() {
            let _ = writeln!(text, "  {line}");
        }
    }
    text
}

/// Returns the prompt that follows an interrupted run.
pub fn interrupt_text(session_id: &str, by: &str, instruction: &str) -> String {
    format!(
        "Your last run for Creel session {session_id} was interrupted by {by}. The conversation up \
         to that point is kept; the last command or edit may be half done, so look before you \
         build on it.\n\nNew instruction:\n{instruction}\n"
    )
}
