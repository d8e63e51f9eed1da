//! The catalog's file shapes, as written in TOML.
//!
//! Every field is optional here, so that a user's file can name just the ones it changes; a
//! [`Harness`](crate::harness::Harness) is the completed form.

use std::collections::BTreeMap;
use std::fmt;

use creel_api::plan::{JsonRule, ProviderRule};
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor, value};
use toml::Spanned;

use crate::mcp::ConfigTree;
use crate::template::Template;

/// A file of the user's: any number of harnesses by name.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct UserFile {
    #[serde(default)]
    pub(crate) harness: BTreeMap<String, Spanned<HarnessEntry>>,
}

/// One harness, or a patch of one.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct HarnessEntry {
    pub(crate) title: Option<String>,
    pub(crate) program: Option<String>,
    pub(crate) tested: Option<String>,
    pub(crate) capabilities: Option<Vec<Capability>>,
    pub(crate) channels: Option<Vec<Channel>>,
    pub(crate) mcp_tools: Option<String>,
    pub(crate) prompt: Option<PromptForm>,
    pub(crate) native_id: Option<NativeIdForm>,
    pub(crate) native_id_rules: Option<Vec<JsonRule>>,
    pub(crate) args: Option<Vec<Arg>>,
    pub(crate) interactive: Option<Vec<Arg>>,
    pub(crate) mcp: Option<McpEntry>,
    pub(crate) env: Option<BTreeMap<String, Template>>,
    pub(crate) environment: Option<Vec<String>>,
    pub(crate) credentials: Option<Vec<String>>,
    pub(crate) provider_errors: Option<Vec<ProviderRule>>,
    pub(crate) provider_message: Option<String>,
    pub(crate) end_grace_ms: Option<u64>,
    pub(crate) return_grace_ms: Option<u64>,
    pub(crate) output_bytes: Option<u64>,
    pub(crate) transcript_bytes: Option<u64>,
    #[serde(default)]
    pub(crate) profiles: BTreeMap<String, Profile>,
}

/// What a harness can do beyond running one prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Capability {
    /// Answers one prompt without a terminal.
    Headless,
    /// Continues a native session in a new process.
    Resume,
    /// Takes the native session's id from us.
    PreassignSessionId,
    /// Has a switch for the model.
    Model,
    /// Has a switch for the reasoning effort.
    Effort,
    /// Writes its work as JSON lines on standard output.
    StructuredOutput,
    /// Confines shell commands, so that they may not reach the store.
    Sandbox,
}

/// How results and other session verbs get from the agent into the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Channel {
    /// The agent's shell tool runs `creel session …`.
    Shell,
    /// The agent calls tools of `creel mcp`, which the harness starts outside its sandbox.
    Mcp,
    /// The agent writes a file into a directory that the keeper collects from.
    Dir,
}

impl Channel {
    /// Returns the channel's word in the catalog.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Shell => "shell",
            Self::Mcp => "mcp",
            Self::Dir => "dir",
        }
    }
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Where the prompt goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum PromptForm {
    /// On standard input.
    Stdin,
    /// In the file `{promptFile}` of the run directory.
    File,
    /// The last operator prompt is a shell script in `{promptFile}`; the text of a re-prompt or
    /// wake arrives in `ORBH_PROMPT` and on standard input.
    Script,
}

/// How the native session's id is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum NativeIdForm {
    /// There is no native session: every run starts anew.
    None,
    /// We choose it; the native session exists once the process reported it.
    Preassigned,
    /// We choose it, and the same words start or continue the session of that id.
    Keyed,
    /// `native-id-rules` find it on standard output.
    Discovered,
}

/// Settings a target adds to its harness.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Profile {
    pub(crate) title: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) effort: Option<String>,
    #[serde(default)]
    pub(crate) args: Vec<String>,
    #[serde(default)]
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) channel: Option<Channel>,
    #[serde(default)]
    pub(crate) verdict_by_exit: bool,
}

/// How `creel mcp` is announced to the harness.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct McpEntry {
    /// The configuration, written as JSON (`{mcpJson}`); its strings are templates.
    pub(crate) config: ConfigTree,
    /// Name of the file below the run directory that holds it, when the harness wants one.
    pub(crate) file: Option<String>,
    /// What the file holds, when it isn't the JSON alone.
    pub(crate) text: Option<Template>,
}

/// When a group of words is part of the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Condition {
    Launch,
    Resume,
    Root,
    NotRoot,
    Shell,
    Mcp,
    Dir,
    /// A person's session has something to begin with.
    Prompt,
    /// It has not.
    NoPrompt,
}

/// One item of a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Arg {
    /// A word that is always there.
    Word(Template),
    /// Words that are there when each of their placeholders has a value.
    Group(Vec<Template>),
    /// Words that are there when the condition holds.
    When(Condition, Vec<Template>),
    /// The profile's own words (`"{profileArgs}"`).
    Profile,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct WhenEntry {
    when: Condition,
    words: Vec<Template>,
}

impl<'de> Deserialize<'de> for Arg {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // An untagged enum would answer every mistake with "matched no variant".
        deserializer.deserialize_any(ArgVisitor)
    }
}

struct ArgVisitor;

impl<'de> Visitor<'de> for ArgVisitor {
    type Value = Arg;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a word, a list of words, or a table of `when` and `words`")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Arg, E> {
        if text == "{profileArgs}" {
            return Ok(Arg::Profile);
        }
        Template::try_from(text.to_owned()).map(Arg::Word).map_err(E::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Arg, A::Error> {
        Vec::deserialize(value::SeqAccessDeserializer::new(seq)).map(Arg::Group)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Arg, A::Error> {
        WhenEntry::deserialize(value::MapAccessDeserializer::new(map))
            .map(|entry| Arg::When(entry.when, entry.words))
    }
}

impl HarnessEntry {
    /// Returns this entry with the fields of `over` in front; profiles merge by name.
    pub(crate) fn overlaid_by(self, over: Self) -> Self {
        let mut profiles = self.profiles;
        profiles.extend(over.profiles);
        Self {
            title: over.title.or(self.title),
            program: over.program.or(self.program),
            tested: over.tested.or(self.tested),
            capabilities: over.capabilities.or(self.capabilities),
            channels: over.channels.or(self.channels),
            mcp_tools: over.mcp_tools.or(self.mcp_tools),
            prompt: over.prompt.or(self.prompt),
            native_id: over.native_id.or(self.native_id),
            native_id_rules: over.native_id_rules.or(self.native_id_rules),
            args: over.args.or(self.args),
            interactive: over.interactive.or(self.interactive),
            mcp: over.mcp.or(self.mcp),
            env: over.env.or(self.env),
            environment: over.environment.or(self.environment),
            credentials: over.credentials.or(self.credentials),
            provider_errors: over.provider_errors.or(self.provider_errors),
            provider_message: over.provider_message.or(self.provider_message),
            end_grace_ms: over.end_grace_ms.or(self.end_grace_ms),
            return_grace_ms: over.return_grace_ms.or(self.return_grace_ms),
            output_bytes: over.output_bytes.or(self.output_bytes),
            transcript_bytes: over.transcript_bytes.or(self.transcript_bytes),
            profiles,
        }
    }
}
