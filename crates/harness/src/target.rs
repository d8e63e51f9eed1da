//! A target: one harness with one profile's settings.

use crate::contract::Voice;
use crate::entry::{Capability, Channel, NativeIdForm, Profile, PromptForm};
use crate::environment::{Admission, Environment};
use crate::harness::Harness;

/// What `runtime` or `runtime/profile` stands for.
#[derive(Clone, Debug)]
pub struct Target {
    pub(crate) harness: Harness,
    pub(crate) profile: Profile,
    pub(crate) channel: Channel,
    profile_name: Option<String>,
}

/// Why a name is no target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// No harness has the name.
    #[error("no runtime is called `{name}`; known: {}", known.join(", "))]
    UnknownRuntime {
        /// The name asked for.
        name: String,
        /// Every runtime there is.
        known: Vec<String>,
    },
    /// The harness has no such profile.
    #[error("`{runtime}` has no profile `{name}`; {}", known_profiles(runtime, known))]
    UnknownProfile {
        /// The harness.
        runtime: String,
        /// The profile asked for.
        name: String,
        /// Every profile of the harness.
        known: Vec<String>,
    },
    /// The harness can't return that way.
    #[error("`{target}` can't return by `{channel}`; it can by {}", known.join(", "))]
    UnknownChannel {
        /// The target's name.
        target: String,
        /// The channel asked for.
        channel: Channel,
        /// The channels it has.
        known: Vec<String>,
    },
}

fn known_profiles(runtime: &str, known: &[String]) -> String {
    if known.is_empty() {
        return format!("it has none, `{runtime}` alone is its only target");
    }
    let names: Vec<_> = known.iter().map(|name| format!("{runtime}/{name}")).collect();
    format!("known: {runtime}, {}", names.join(", "))
}

impl Target {
    pub(crate) fn new(harness: Harness, profile: Option<&str>) -> Result<Self, TargetError> {
        let settings = match profile {
            None => Profile::default(),
            Some(name) => {
                harness.profiles.get(name).cloned().ok_or_else(|| TargetError::UnknownProfile {
                    runtime: harness.name.clone(),
                    name: name.to_owned(),
                    known: harness.profiles.keys().cloned().collect(),
                })?
            }
        };
        let first = harness.channels.first().copied().unwrap_or(Channel::Shell);
        Ok(Self {
            channel: settings.channel.unwrap_or(first),
            profile: settings,
            profile_name: profile.map(str::to_owned),
            harness,
        })
    }

    /// Returns this target with another return channel, such as for a sandbox around the agent.
    pub fn with_channel(mut self, channel: Channel) -> Result<Self, TargetError> {
        if !self.harness.channels.contains(&channel) {
            return Err(TargetError::UnknownChannel {
                target: self.name(),
                channel,
                known: self.harness.channels.iter().map(ToString::to_string).collect(),
            });
        }
        self.channel = channel;
        Ok(self)
    }

    /// Returns the target's full name.
    pub fn name(&self) -> String {
        match &self.profile_name {
            Some(profile) => format!("{}/{profile}", self.harness.name),
            None => self.harness.name.clone(),
        }
    }

    /// Returns the harness's name.
    pub fn runtime(&self) -> &str {
        &self.harness.name
    }

    /// Returns the profile's name, if one was asked for.
    pub fn profile(&self) -> Option<&str> {
        self.profile_name.as_deref()
    }

    /// Returns the harness's or profile's name for people.
    pub fn title(&self) -> &str {
        self.profile.title.as_deref().unwrap_or(&self.harness.title)
    }

    /// Returns the program to look up on the user's PATH, or its absolute path.
    pub fn program(&self) -> &str {
        &self.harness.program
    }

    /// Returns the harness's version that the recipe was tried with.
    pub fn tested_version(&self) -> Option<&str> {
        self.harness.tested.as_deref()
    }

    /// Returns what the harness can do.
    pub fn capabilities(&self) -> &[Capability] {
        &self.harness.capabilities
    }

    /// Returns the way results come back.
    pub fn channel(&self) -> Channel {
        self.channel
    }

    /// Returns the names (a trailing `*` stands for any rest) of the variables that may be
    /// remembered with a session.
    pub fn environment_allow_list(&self) -> Vec<String> {
        self.admission().allow_list()
    }

    /// Returns the names of the variables that hold the harness's credentials.
    pub fn credential_names(&self) -> &[String] {
        &self.harness.credentials
    }

    /// Sorts a whole environment into what this target may have; see [`Environment`].
    pub fn environment_from<I>(&self, variables: I) -> Environment
    where
        I: IntoIterator<Item = (String, String)>,
    {
        self.admission().sort(variables)
    }

    /// Returns true when a later run can continue the harness's own session.
    pub fn can_resume(&self) -> bool {
        self.harness.native_id != NativeIdForm::None
    }

    /// Returns true when a fresh run takes its native id from us.
    pub fn preassigns_native_id(&self) -> bool {
        matches!(self.harness.native_id, NativeIdForm::Preassigned | NativeIdForm::Keyed)
    }

    /// Returns true when the exit code is the verdict.
    pub fn is_judged_by_exit(&self) -> bool {
        self.profile.verdict_by_exit
    }

    /// Returns true when an operator's prompt is a script to run, and not a text to read.
    pub fn takes_script(&self) -> bool {
        self.harness.prompt == PromptForm::Script
    }

    /// Returns the prompt for a run that ended without a return; `attempt` counts from 1.
    ///
    /// For a target that returns into a directory, the path is named again by the run's contract.
    pub fn reprompt_text(&self, session_id: &str, attempt: u32) -> String {
        self.voice("the return directory").reprompt(session_id, attempt)
    }

    pub(crate) fn voice<'a>(&'a self, return_dir: &'a str) -> Voice<'a> {
        Voice { channel: self.channel, mcp_tools: &self.harness.mcp_tools, return_dir }
    }

    pub(crate) fn admission(&self) -> Admission<'_> {
        Admission { environment: &self.harness.environment, credentials: &self.harness.credentials }
    }
}
