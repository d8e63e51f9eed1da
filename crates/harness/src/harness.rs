//! A completed catalog entry.

use std::collections::BTreeMap;

use creel_api::plan::{JsonRule, ProviderRule};

use crate::entry::{
    Arg, Capability, Channel, Condition, HarnessEntry, McpEntry, NativeIdForm, Profile, PromptForm,
};
use crate::template::Template;

/// Milliseconds between asking a process tree to end and killing it. An agent needs a moment to
/// save its own session; more makes every kill slow. A harness may say otherwise.
pub const DEFAULT_END_GRACE_MS: u64 = 5_000;
/// Milliseconds a run may live on after it returned. An agent writes a closing line or two;
/// whatever takes longer isn't part of the result.
pub const DEFAULT_RETURN_GRACE_MS: u64 = 10_000;
/// Bound of the raw output log: a long run of the chattiest agent tried wrote a tenth of it.
pub const DEFAULT_OUTPUT_BYTES: u64 = 64 * 1024 * 1024;
/// Bound of a transcript; agents keep their own full one.
pub const DEFAULT_TRANSCRIPT_BYTES: u64 = 64 * 1024 * 1024;

/// One harness with nothing left open.
#[derive(Clone, Debug)]
pub(crate) struct Harness {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) program: String,
    pub(crate) tested: Option<String>,
    pub(crate) capabilities: Vec<Capability>,
    pub(crate) channels: Vec<Channel>,
    pub(crate) mcp_tools: String,
    pub(crate) prompt: PromptForm,
    pub(crate) native_id: NativeIdForm,
    pub(crate) native_id_rules: Vec<JsonRule>,
    pub(crate) args: Vec<Arg>,
    /// The command line on a person's terminal; none where there is no such thing.
    pub(crate) interactive: Option<Vec<Arg>>,
    pub(crate) mcp: Option<McpEntry>,
    pub(crate) env: BTreeMap<String, Template>,
    pub(crate) environment: Vec<String>,
    pub(crate) credentials: Vec<String>,
    pub(crate) provider_errors: Vec<ProviderRule>,
    pub(crate) provider_message: Option<String>,
    pub(crate) end_grace_ms: u64,
    pub(crate) return_grace_ms: u64,
    pub(crate) output_bytes: u64,
    pub(crate) transcript_bytes: u64,
    pub(crate) profiles: BTreeMap<String, Profile>,
}

impl Harness {
    /// Completes an entry, or says what it lacks.
    pub(crate) fn complete(name: &str, entry: HarnessEntry) -> Result<Self, String> {
        let program = entry.program.ok_or("missing field `program`")?;
        let args = entry.args.ok_or("missing field `args`, expected a list of words")?;
        let prompt = entry
            .prompt
            .ok_or("missing field `prompt`, expected one of `stdin`, `file`, `script`")?;
        let native_id = entry.native_id.unwrap_or(NativeIdForm::None);
        let resumes = args.iter().any(|arg| matches!(arg, Arg::When(Condition::Resume, _)));
        let must_resume = matches!(native_id, NativeIdForm::Preassigned | NativeIdForm::Discovered);
        if must_resume && !resumes {
            return Err("`args` can't resume, expected words under `when = \"resume\"`, or \
                        `native-id = \"none\"`"
                .into());
        }
        let channels = entry.channels.unwrap_or_else(|| vec![Channel::Shell]);
        if channels.is_empty() {
            return Err(
                "`channels` is empty, expected at least one of `shell`, `mcp`, `dir`".into()
            );
        }
        for profile in entry.profiles.values() {
            if let Some(channel) = profile.channel.filter(|channel| !channels.contains(channel)) {
                let list = channels.iter().map(|c| format!("`{c}`")).collect::<Vec<_>>().join(", ");
                return Err(format!(
                    "a profile asks for the channel `{channel}`, expected one of {list}"
                ));
            }
        }
        Ok(Self {
            name: name.to_owned(),
            title: entry.title.unwrap_or_else(|| name.to_owned()),
            program,
            tested: entry.tested,
            capabilities: entry.capabilities.unwrap_or_default(),
            channels,
            mcp_tools: entry.mcp_tools.unwrap_or_else(|| "NAME".to_owned()),
            prompt,
            native_id,
            native_id_rules: entry.native_id_rules.unwrap_or_default(),
            args,
            interactive: entry.interactive,
            mcp: entry.mcp,
            env: entry.env.unwrap_or_default(),
            environment: entry.environment.unwrap_or_default(),
            credentials: entry.credentials.unwrap_or_default(),
            provider_errors: entry.provider_errors.unwrap_or_default(),
            provider_message: entry.provider_message,
            end_grace_ms: entry.end_grace_ms.unwrap_or(DEFAULT_END_GRACE_MS),
            return_grace_ms: entry.return_grace_ms.unwrap_or(DEFAULT_RETURN_GRACE_MS),
            output_bytes: entry.output_bytes.unwrap_or(DEFAULT_OUTPUT_BYTES),
            transcript_bytes: entry.transcript_bytes.unwrap_or(DEFAULT_TRANSCRIPT_BYTES),
            profiles: entry.profiles,
        })
    }
}
