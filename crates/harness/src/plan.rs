//! From a target and an invocation to the process to start and the rules to watch it by.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::slice;

use creel_api::plan::{
    Command, DEFAULT_HISTORY_BYTES, DEFAULT_HISTORY_LINES, PlanFile, TerminalPlan, TerminalSize,
    Watch,
};

use crate::contract::Shape;
use crate::entry::{Arg, Channel, Condition, NativeIdForm, PromptForm};
use crate::environment::Environment;
use crate::target::Target;
use crate::template::{Name, Template, Values};

/// Largest text that travels in `ORBH_PROMPT`, in bytes: half of what Linux allows for one
/// variable (128 KiB). Standard input carries it in any case.
pub const MAX_PROMPT_ENV_BYTES: usize = 64 * 1024;

/// PATH of an agent whose launcher had none.
const FALLBACK_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Why a run starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// An operator's first prompt.
    Launch,
    /// An operator's later prompt.
    Resume,
    /// The last run ended without a return.
    Reprompt,
    /// Something reached a resting session.
    Wake,
    /// The last run was cut to give a new instruction.
    Interrupt,
}

impl Cause {
    /// Returns the word of [`creel_api::plan::RunFacts::cause`].
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Launch => "launch",
            Self::Resume => "resume",
            Self::Reprompt => "reprompt",
            Self::Wake => "wake",
            Self::Interrupt => "interrupt",
        }
    }

    fn has_operator_prompt(self) -> bool {
        matches!(self, Self::Launch | Self::Resume)
    }
}

/// What the agent's process is connected to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Pipes.
    Headless,
    /// A terminal.
    Interactive {
        /// Its size at first.
        size: TerminalSize,
    },
}

/// How the harness starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start<'a> {
    /// With a new native session: a first run, or an explicit start over.
    Fresh {
        /// A new UUID, for a harness that takes its id from us. It must never have been used.
        native_id: &'a str,
    },
    /// With the native session of an earlier run.
    Continue {
        /// The id that an earlier run reported, if one did.
        native_id: Option<&'a str>,
    },
}

/// Whose rights the agent gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Privilege {
    /// The superuser's.
    Root,
    /// Anybody else's.
    User,
}

/// Where things are; every path is absolute.
#[derive(Clone, Copy, Debug)]
pub struct Places<'a> {
    /// The harness's program, as found on the user's PATH.
    pub program: &'a Path,
    /// The session's working directory.
    pub cwd: &'a Path,
    /// The run's own directory.
    pub run_dir: &'a Path,
    /// The orb root of the session's store.
    pub orb_root: &'a Path,
    /// The directory whose `creel` and `flint` the agent shall find first.
    pub shim_dir: &'a Path,
    /// The `creel` executable.
    pub creel_exe: &'a Path,
}

/// One run to plan.
#[derive(Clone, Copy, Debug)]
pub struct Invocation<'a> {
    /// The kind of session.
    pub shape: Shape<'a>,
    /// What its process is connected to.
    pub mode: Mode,
    /// Why the run starts.
    pub cause: Cause,
    /// Whether it continues a native session.
    pub start: Start<'a>,
    /// The session's id.
    pub session_id: &'a str,
    /// The run's id.
    pub run_id: &'a str,
    /// The text of this run, as recorded. May be empty on a terminal.
    pub prompt: &'a str,
    /// The last text given to launch, request or resume; equals `prompt` for those.
    pub operator_prompt: &'a str,
    /// Whose rights the agent gets.
    pub privilege: Privilege,
    /// What it inherits, as sorted by [`Target::environment_from`] at launch.
    pub environment: &'a Environment,
    /// Where things are.
    pub places: Places<'a>,
}

/// A planned run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepared {
    /// The process to start.
    pub command: Command,
    /// What to watch for.
    pub watch: Watch,
    /// The terminal to make, of an interactive run.
    pub terminal: Option<TerminalPlan>,
    /// True when a new native session starts (always, for a harness that has none).
    pub is_fresh: bool,
    /// The native id the process was given, known before it says so itself.
    pub native_id: Option<String>,
    /// True when a later run may continue by that id even though this one never reported it.
    /// Otherwise the native session exists only once the process said so.
    pub is_native_id_certain: bool,
}

/// Why a run can't be planned.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The harness has no command for a terminal.
    #[error("{target} has no recipe for a terminal (`interactive`)")]
    NotInteractive {
        /// The target's name.
        target: String,
    },
    /// A native session was to be continued, and none is known.
    #[error("no earlier run of this session reported a native session of {target} to continue")]
    NoNativeId {
        /// The target's name.
        target: String,
    },
    /// A path can't be written into an argument or variable.
    #[error("the path {path:?} is not UTF-8")]
    PathNotText {
        /// The path.
        path: PathBuf,
    },
    /// The recipe needs a value that this launch hasn't got.
    #[error("the recipe of {target} needs `{{{placeholder}}}`, which this run has no value for")]
    NoValue {
        /// The target's name.
        target: String,
        /// The placeholder.
        placeholder: &'static str,
    },
}

/// A command in the making.
struct Draft {
    values: Values,
    env: BTreeMap<String, String>,
    files: Vec<PlanFile>,
    stdin: String,
}

impl Draft {
    /// Asks for a file and makes its path the value of `name`.
    fn add_file(&mut self, path: &Path, name: Name, in_file: String) -> Result<(), PlanError> {
        self.values.set(name, text(path)?);
        self.files.push(PlanFile { path: path.to_owned(), text: in_file });
        Ok(())
    }
}

impl Target {
    /// Returns the process of a run and the rules to watch it by.
    ///
    /// Continuing without a native id is refused; starting over is the caller's explicit choice.
    pub fn plan(&self, run: &Invocation<'_>) -> Result<Prepared, PlanError> {
        let recipe = match (run.mode, &self.harness.interactive) {
            (Mode::Headless, _) => &self.harness.args,
            (Mode::Interactive { .. }, Some(recipe)) => recipe,
            (Mode::Interactive { .. }, None) => {
                return Err(PlanError::NotInteractive { target: self.name() });
            }
        };
        let native_id = self.native_id(run.start)?;
        let return_dir = run.places.run_dir.join("return");
        let mut draft = self.draft(run, native_id)?;
        draft.values.set(Name::ReturnDir, text(&return_dir)?);
        if self.channel == Channel::Dir {
            draft.env.insert("CREEL_RETURN_DIR".to_owned(), text(&return_dir)?);
        }
        draft.values.set_run_env(own_variables(&draft.env));
        self.place_prompt(run, &mut draft)?;
        self.announce_mcp(run, &mut draft)?;
        self.add_recipe_variables(&mut draft);
        if run.mode != Mode::Headless {
            add_terminal_variables(&mut draft.env);
        }

        let command = Command {
            program: run.places.program.to_owned(),
            args: self.words(run, recipe, &draft.values)?,
            env: draft.env.into_iter().collect(),
            cwd: run.places.cwd.to_owned(),
            stdin: draft.stdin,
            files: draft.files,
        };
        Ok(Prepared {
            command,
            watch: self.watch(run.mode, (self.channel == Channel::Dir).then_some(return_dir)),
            terminal: self.terminal(run, native_id),
            is_fresh: !self.continues(run),
            native_id: native_id.map(str::to_owned),
            is_native_id_certain: self.harness.native_id == NativeIdForm::Keyed,
        })
    }

    fn native_id<'a>(&self, start: Start<'a>) -> Result<Option<&'a str>, PlanError> {
        match (self.harness.native_id, start) {
            (NativeIdForm::None, _) | (NativeIdForm::Discovered, Start::Fresh { .. }) => Ok(None),
            (NativeIdForm::Preassigned | NativeIdForm::Keyed, Start::Fresh { native_id }) => {
                Ok(Some(native_id))
            }
            (_, Start::Continue { native_id: Some(id) }) => Ok(Some(id)),
            (_, Start::Continue { native_id: None }) => {
                Err(PlanError::NoNativeId { target: self.name() })
            }
        }
    }

    /// The values and variables that don't depend on prompt and channel: what is inherited and
    /// admitted, the profile's, and Creel's own.
    fn draft(&self, run: &Invocation<'_>, native_id: Option<&str>) -> Result<Draft, PlanError> {
        let admitted = self.environment_from(
            run.environment.base.iter().chain(&run.environment.credentials).cloned(),
        );
        let mut env: BTreeMap<_, _> =
            admitted.base.into_iter().chain(admitted.credentials).collect();
        env.extend(self.profile.env.clone());
        let path = env.get("PATH").map_or(FALLBACK_PATH, String::as_str);
        let path = format!("{}:{path}", text(run.places.shim_dir)?);
        env.extend([
            ("PATH".to_owned(), path),
            ("ORBH_SESSION_ID".to_owned(), run.session_id.to_owned()),
            ("ORBH_CWD".to_owned(), text(run.places.cwd)?),
            ("ORBH_ORB_ROOT_DIR".to_owned(), text(run.places.orb_root)?),
            ("CREEL_RUN_ID".to_owned(), run.run_id.to_owned()),
        ]);

        let mut values = Values::default();
        values.set(Name::SessionId, run.session_id);
        values.set(Name::RunId, run.run_id);
        values.set(Name::Cwd, text(run.places.cwd)?);
        values.set(Name::RunDir, text(run.places.run_dir)?);
        values.set(Name::OrbRoot, text(run.places.orb_root)?);
        values.set(Name::CreelExe, text(run.places.creel_exe)?);
        let optional = [
            (Name::NativeId, native_id),
            (Name::Model, self.profile.model.as_deref()),
            (Name::Effort, self.profile.effort.as_deref()),
        ];
        for (name, value) in optional {
            if let Some(value) = value {
                values.set(name, value);
            }
        }
        Ok(Draft { values, env, files: Vec::new(), stdin: String::new() })
    }

    /// Puts the prompt where the harness reads it.
    fn place_prompt(&self, run: &Invocation<'_>, draft: &mut Draft) -> Result<(), PlanError> {
        if run.mode != Mode::Headless {
            return self.place_first_input(run, draft);
        }
        let (file, in_file) = match self.harness.prompt {
            PromptForm::Stdin => {
                draft.stdin = self.compose(run)?;
                return Ok(());
            }
            PromptForm::File => ("prompt", self.compose(run)?),
            PromptForm::Script => {
                if !run.cause.has_operator_prompt() {
                    // A NUL can't be in a variable; standard input has the text anyway.
                    if run.prompt.len() <= MAX_PROMPT_ENV_BYTES && !run.prompt.contains('\0') {
                        draft.env.insert("ORBH_PROMPT".to_owned(), run.prompt.to_owned());
                    }
                    run.prompt.clone_into(&mut draft.stdin);
                }
                ("script", run.operator_prompt.to_owned())
            }
        };
        draft.add_file(&run.places.run_dir.join(file), Name::PromptFile, in_file)
    }

    /// Puts what a person's session begins with into a file: a terminal's input is the person's, and
    /// nothing large travels in arguments.
    fn place_first_input(&self, run: &Invocation<'_>, draft: &mut Draft) -> Result<(), PlanError> {
        if run.prompt.is_empty() {
            return Ok(());
        }
        let in_file = match self.harness.prompt {
            PromptForm::Script => run.prompt.to_owned(),
            PromptForm::Stdin | PromptForm::File => self.compose(run)?,
        };
        draft.add_file(&run.places.run_dir.join("prompt"), Name::PromptFile, in_file)
    }

    fn terminal(&self, run: &Invocation<'_>, native_id: Option<&str>) -> Option<TerminalPlan> {
        let Mode::Interactive { size } = run.mode else { return None };
        // What was continued is known, and what is keyed is known from the start.
        let is_new = self.harness.native_id == NativeIdForm::Preassigned && !self.continues(run);
        Some(TerminalPlan {
            size,
            history_lines: DEFAULT_HISTORY_LINES,
            history_bytes: DEFAULT_HISTORY_BYTES,
            native_id: native_id.filter(|_| is_new).map(str::to_owned),
            has_first_input: !run.prompt.is_empty(),
        })
    }

    /// The whole prompt: the contract (or a reminder of it) and the text of this run.
    fn compose(&self, run: &Invocation<'_>) -> Result<String, PlanError> {
        let return_dir = text(&run.places.run_dir.join("return"))?;
        let voice = self.voice(&return_dir);
        let continues = self.continues(run);
        // The return directory is another one for each run.
        if continues && self.channel != Channel::Dir {
            return Ok(format!("{}\n{}", voice.reminder(run.session_id), run.prompt));
        }
        let contract = voice.contract(run.session_id, run.shape);
        if continues || run.cause.has_operator_prompt() {
            return Ok(format!("{contract}\n{}", run.prompt));
        }
        // An agent that starts over knows nothing of the task it is prompted about.
        Ok(format!("{contract}\n{}\n\n{}", run.operator_prompt, run.prompt))
    }

    fn announce_mcp(&self, run: &Invocation<'_>, draft: &mut Draft) -> Result<(), PlanError> {
        let (Channel::Mcp, Some(mcp)) = (self.channel, &self.harness.mcp) else { return Ok(()) };
        let config = mcp.config.render(&draft.values).map_err(|name| self.no_value(name))?;
        draft.values.set(Name::McpJson, config.to_string());
        let Some(file) = &mcp.file else { return Ok(()) };
        let in_file = match &mcp.text {
            Some(template) => template.render(&draft.values).map_err(|name| self.no_value(name))?,
            None => config.to_string(),
        };
        draft.add_file(&run.places.run_dir.join(file), Name::McpFile, in_file)
    }

    /// Adds the recipe's own variables whose placeholders all have a value.
    fn add_recipe_variables(&self, draft: &mut Draft) {
        for (name, template) in &self.harness.env {
            if let Ok(value) = template.render(&draft.values) {
                draft.env.insert(name.clone(), value);
            }
        }
    }

    fn words(
        &self,
        run: &Invocation<'_>,
        recipe: &[Arg],
        values: &Values,
    ) -> Result<Vec<String>, PlanError> {
        let all = |group: &[Template]| -> Result<Vec<String>, PlanError> {
            let words: Result<_, Name> =
                group.iter().map(|template| template.render(values)).collect();
            words.map_err(|name| self.no_value(name))
        };
        let mut words = Vec::new();
        for arg in recipe {
            match arg {
                Arg::Word(template) => words.extend(all(slice::from_ref(template))?),
                Arg::Group(group) => words.extend(all(group).unwrap_or_default()),
                Arg::When(condition, group) if self.holds(*condition, run) => {
                    words.extend(all(group)?);
                }
                Arg::When(..) => {}
                Arg::Profile => words.extend(self.profile.args.iter().cloned()),
            }
        }
        Ok(words)
    }

    fn holds(&self, condition: Condition, run: &Invocation<'_>) -> bool {
        match condition {
            Condition::Launch => !self.continues(run),
            Condition::Resume => self.continues(run),
            Condition::Root => run.privilege == Privilege::Root,
            Condition::NotRoot => run.privilege == Privilege::User,
            Condition::Shell => self.channel == Channel::Shell,
            Condition::Mcp => self.channel == Channel::Mcp,
            Condition::Dir => self.channel == Channel::Dir,
            Condition::Prompt => !run.prompt.is_empty(),
            Condition::NoPrompt => run.prompt.is_empty(),
        }
    }

    fn continues(&self, run: &Invocation<'_>) -> bool {
        self.can_resume() && matches!(run.start, Start::Continue { .. })
    }

    fn watch(&self, mode: Mode, return_dir: Option<PathBuf>) -> Watch {
        let harness = &self.harness;
        // A screen has no lines of JSON, and a person's leaving is no verdict.
        let is_headless = mode == Mode::Headless;
        Watch {
            verdict_by_exit: self.profile.verdict_by_exit && is_headless,
            native_id: harness.native_id_rules.iter().filter(|_| is_headless).cloned().collect(),
            provider_error: harness
                .provider_errors
                .iter()
                .filter(|_| is_headless)
                .cloned()
                .collect(),
            provider_message: harness.provider_message.clone(),
            return_dir,
            end_grace_ms: harness.end_grace_ms,
            return_grace_ms: harness.return_grace_ms,
            output_bytes: harness.output_bytes,
            transcript_bytes: harness.transcript_bytes,
        }
    }

    fn no_value(&self, name: Name) -> PlanError {
        PlanError::NoValue { target: self.name(), placeholder: name.as_str() }
    }
}

/// Tells a program what terminal it is on: ours, wherever the launcher stood.
fn add_terminal_variables(env: &mut BTreeMap<String, String>) {
    let ours = [
        ("TERM", "xterm-256color"),
        ("COLORTERM", "truecolor"),
        ("TERM_PROGRAM", "creel"),
        ("TERM_PROGRAM_VERSION", env!("CARGO_PKG_VERSION")),
    ];
    env.extend(ours.map(|(name, value)| (name.to_owned(), value.to_owned())));
    // Whoever has no colours on his own screen may look at this one from another.
    env.remove("NO_COLOR");
    let has_locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .any(|name| env.get(*name).is_some_and(|value| !value.is_empty()));
    if !has_locale {
        env.insert("LANG".to_owned(), "C.UTF-8".to_owned());
    }
}

/// What a process needs, beside the program, to act for this run: harnesses that start MCP servers
/// with an empty environment must be told.
fn own_variables(env: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    const STARTS: [&str; 3] = ["ORBH_", "CREEL_", "XDG_"];
    env.iter()
        .filter(|(name, _)| *name == "HOME" || STARTS.iter().any(|start| name.starts_with(start)))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

fn text(path: &Path) -> Result<String, PlanError> {
    path.to_str().map(str::to_owned).ok_or_else(|| PlanError::PathNotText { path: path.to_owned() })
}
