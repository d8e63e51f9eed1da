//! From a target and an invocation to the process to start and the rules to watch it by.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use creel_api::plan::{Command, PlanFile, Watch};

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
    /// Why the run starts.
    pub cause: Cause,
    /// Whether it continues a native session.
    pub start: Start<'a>,
    /// The session's id.
    pub session_id: &'a str,
    /// The run's id.
    pub run_id: &'a str,
    /// The text of this run, as recorded.
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
    /// The native id the process was given, known before it says so itself. The native session
    /// exists only once the process reported it.
    pub native_id: Option<String>,
}

/// Why a run can't be planned.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
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

impl Target {
    /// Returns the process of a run and the rules to watch it by.
    ///
    /// Continuing without a native id is refused; starting over is the caller's explicit choice.
    pub fn plan(&self, run: &Invocation<'_>) -> Result<Prepared, PlanError> {
        let (recipe, native_id) = self.recipe(run)?;
        let return_dir = run.places.run_dir.join("return");
        let mut files = Vec::new();
        let mut env = self.inherited(run)?;
        let mut values = self.values(run, native_id)?;
        values.set(Name::ReturnDir, text(&return_dir)?);
        values.set_run_env(own_variables(&env));

        let stdin = self.place_prompt(run, (&mut values, &mut env, &mut files))?;
        self.announce_mcp(run, &mut values, &mut files)?;
        self.add_recipe_variables(&values, &mut env);
        if self.channel == Channel::Dir {
            env.insert("CREEL_RETURN_DIR".to_owned(), text(&return_dir)?);
        }

        let command = Command {
            program: run.places.program.to_owned(),
            args: self.words(recipe, run, &values)?,
            env: env.into_iter().collect(),
            cwd: run.places.cwd.to_owned(),
            stdin,
            files,
        };
        Ok(Prepared {
            command,
            watch: self.watch((self.channel == Channel::Dir).then_some(return_dir)),
            native_id: native_id.map(str::to_owned),
        })
    }

    fn recipe<'a>(
        &'a self,
        run: &Invocation<'a>,
    ) -> Result<(&'a [Arg], Option<&'a str>), PlanError> {
        let harness = &self.harness;
        match (harness.native_id, run.start) {
            (NativeIdForm::None, _) | (NativeIdForm::Discovered, Start::Fresh { .. }) => {
                Ok((&harness.launch, None))
            }
            (NativeIdForm::Preassigned, Start::Fresh { native_id }) => {
                Ok((&harness.launch, Some(native_id)))
            }
            (_, Start::Continue { native_id: Some(id) }) => Ok((&harness.resume, Some(id))),
            (_, Start::Continue { native_id: None }) => {
                Err(PlanError::NoNativeId { target: self.name() })
            }
        }
    }

    /// The inherited variables that the target admits, the profile's, and Creel's own.
    fn inherited(&self, run: &Invocation<'_>) -> Result<BTreeMap<String, String>, PlanError> {
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
        Ok(env)
    }

    fn values(&self, run: &Invocation<'_>, native_id: Option<&str>) -> Result<Values, PlanError> {
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
        Ok(values)
    }

    /// Puts the prompt where the harness reads it and returns what standard input carries.
    fn place_prompt(
        &self,
        run: &Invocation<'_>,
        (values, env, files): (&mut Values, &mut BTreeMap<String, String>, &mut Vec<PlanFile>),
    ) -> Result<String, PlanError> {
        let (file, in_file, stdin) = match self.harness.prompt {
            PromptForm::Stdin => return self.compose(run),
            PromptForm::File => ("prompt", self.compose(run)?, String::new()),
            PromptForm::Script if run.cause.has_operator_prompt() => {
                ("script", run.operator_prompt.to_owned(), String::new())
            }
            PromptForm::Script => {
                // A NUL can't be in a variable; standard input has the text anyway.
                if run.prompt.len() <= MAX_PROMPT_ENV_BYTES && !run.prompt.contains('\0') {
                    env.insert("ORBH_PROMPT".to_owned(), run.prompt.to_owned());
                }
                ("script", run.operator_prompt.to_owned(), run.prompt.to_owned())
            }
        };
        let path = run.places.run_dir.join(file);
        values.set(Name::PromptFile, text(&path)?);
        files.push(PlanFile { path, text: in_file });
        Ok(stdin)
    }

    /// The whole prompt: the contract (or a reminder of it) and the text of this run.
    fn compose(&self, run: &Invocation<'_>) -> Result<String, PlanError> {
        let return_dir = text(&run.places.run_dir.join("return"))?;
        let voice = self.voice(&return_dir);
        let knows_contract =
            self.can_resume() && matches!(run.start, Start::Continue { .. });
        if knows_contract && self.channel != Channel::Dir {
            return Ok(format!("{}\n{}", voice.reminder(run.session_id), run.prompt));
        }
        let contract = voice.contract(run.session_id, run.shape);
        if knows_contract || run.cause.has_operator_prompt() {
            return Ok(format!("{contract}\n{}", run.prompt));
        }
        // An agent that starts over knows nothing of the task it is prompted about.
        Ok(format!("{contract}\n{}\n\n{}", run.operator_prompt, run.prompt))
    }

    fn announce_mcp(
        &self,
        run: &Invocation<'_>,
        values: &mut Values,
        files: &mut Vec<PlanFile>,
    ) -> Result<(), PlanError> {
        let (Channel::Mcp, Some(mcp)) = (self.channel, &self.harness.mcp) else { return Ok(()) };
        let config = mcp.config.render(values).map_err(|name| self.no_value(name))?.to_string();
        if let Some(file) = &mcp.file {
            let path = run.places.run_dir.join(file);
            values.set(Name::McpFile, text(&path)?);
            files.push(PlanFile { path, text: config.clone() });
        }
        values.set(Name::McpJson, config);
        Ok(())
    }

    /// Adds the recipe's own variables whose placeholders all have a value.
    fn add_recipe_variables(&self, values: &Values, env: &mut BTreeMap<String, String>) {
        for (name, template) in &self.harness.env {
            if let Ok(value) = template.render(values) {
                env.insert(name.clone(), value);
            }
        }
    }

    fn words(
        &self,
        recipe: &[Arg],
        run: &Invocation<'_>,
        values: &Values,
    ) -> Result<Vec<String>, PlanError> {
        let mut words = Vec::new();
        for arg in recipe {
            match arg {
                Arg::Word(template) => {
                    words.push(template.render(values).map_err(|name| self.no_value(name))?);
                }
                Arg::Group(group) => {
                    let rendered: Result<Vec<_>, Name> =
                        group.iter().map(|template| template.render(values)).collect();
                    words.extend(rendered.unwrap_or_default());
                }
                Arg::When(condition, group) if self.holds(*condition, run.privilege) => {
                    words.extend(self.all_words(group, values)?);
                }
                Arg::When(..) => {}
                Arg::Profile => words.extend(self.profile.args.iter().cloned()),
            }
        }
        Ok(words)
    }

    fn all_words(&self, group: &[Template], values: &Values) -> Result<Vec<String>, PlanError> {
        group
            .iter()
            .map(|template| template.render(values).map_err(|name| self.no_value(name)))
            .collect()
    }

    fn holds(&self, condition: Condition, privilege: Privilege) -> bool {
        match condition {
            Condition::Root => privilege == Privilege::Root,
            Condition::NotRoot => privilege == Privilege::User,
            Condition::Shell => self.channel == Channel::Shell,
            Condition::Mcp => self.channel == Channel::Mcp,
            Condition::Dir => self.channel == Channel::Dir,
        }
    }

    fn watch(&self, return_dir: Option<PathBuf>) -> Watch {
        let harness = &self.harness;
        Watch {
            verdict_by_exit: self.profile.verdict_by_exit,
            native_id: harness.native_id_rules.clone(),
            provider_error: harness.provider_errors.clone(),
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

/// What a process needs, beside the program, to act for this run: harnesses that start MCP servers
/// with an empty environment must be told.
fn own_variables(env: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    const STARTS: [&str; 3] = ["ORBH_", "CREEL_", "XDG_"];
    env.iter()
        .filter(|(name, _)| {
            *name == "HOME" || STARTS.iter().any(|start| name.starts_with(start))
        })
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

fn text(path: &Path) -> Result<String, PlanError> {
    path.to_str()
        .map(str::to_owned)
        .ok_or_else(|| PlanError::PathNotText { path: path.to_owned() })
}
