//! The session verbs as tools of an MCP server on standard input and output, for harnesses whose
//! sandbox keeps shell commands from the store. The only place that knows the protocol's library.
//!
//! The session is the one that `ORBH_SESSION_ID` names. Every call does what the verb of its name
//! does; a refusal comes back as the tool's error, with its next step.

mod actions;

use std::sync::Arc;

use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{CallToolResult, ContentBlock, Implementation, ServerCapabilities, ServerConfig};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler, ServiceExt, schemars, tool, tool_handler, tool_router};
use serde::Deserialize;

use crate::codes::Code;
use crate::mcp::actions::{Actions, Disposition};
use crate::report::{Report, chain};
use crate::scope::Selection;

/// What a client is told about the server.
const INSTRUCTIONS: &str = "Acts on the Creel session that this agent works for. Call `register` \
                            first, and `return` exactly once, as the last action: nothing else is \
                            delivered.";

/// Serves until the client closes standard input.
///
/// # Errors
/// When there is no session to act on, or the connection fails.
pub(crate) fn serve(selection: &Selection) -> Result<(), Report> {
    let server = Server { actions: Arc::new(Actions::new(selection)?) };
    let failed = |what: &str, error: &dyn std::error::Error| {
        let message = format!("the MCP server {what}: {}", chain(error));
        Report::new(Code::Internal, message).next("creel mcp --help")
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| failed("can't start", &error))?;
    let served = runtime.block_on(async {
        let service = server
            .serve(rmcp::transport::stdio())
            .await
            .map_err(|error| failed("got no client", &error))?;
        service.waiting().await.map_err(|error| failed("stopped", &error))?;
        Ok(())
    });
    // A question that still waits stays open in the record; its thread ends with the process.
    runtime.shutdown_background();
    served
}

/// The tools.
#[derive(Clone, Debug)]
struct Server {
    actions: Arc<Actions>,
}

/// How a return leaves the session.
#[derive(Clone, Copy, Debug, Default, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(crate = "rmcp::schemars")]
enum Leaving {
    /// The work is done.
    #[default]
    Finish,
    /// This turn is done, more may come.
    Await,
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
struct ReturnArguments {
    /// The deliverable, whole.
    result: String,
    /// `finish` when the work is done (the default), `await` when more may come.
    #[serde(default)]
    disposition: Leaving,
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
struct SetArguments {
    /// The key, such as `phase`.
    key: String,
    /// Its value.
    value: String,
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
struct GetArguments {
    /// The key.
    key: String,
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
struct AskArguments {
    /// The question, with all that is needed to answer it.
    question: String,
    /// Seconds to wait for the answer; 3600 without it. The question stays open after that.
    #[serde(default)]
    timeout_seconds: Option<u64>,
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
struct NoteArguments {
    /// The note.
    text: String,
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
struct RegisterArguments {
    /// A short title.
    title: String,
    /// One sentence on the work.
    description: String,
}

#[tool_router]
impl Server {
    #[tool(
        name = "return",
        description = "Return this turn's result. Call it exactly once, as the \
                                           last action; the same call again is answered alike."
    )]
    async fn return_turn(
        &self,
        Parameters(arguments): Parameters<ReturnArguments>,
    ) -> CallToolResult {
        let ReturnArguments { result, disposition } = arguments;
        let disposition = match disposition {
            Leaving::Finish => Disposition::Finish,
            Leaving::Await => Disposition::Await,
        };
        self.call(move |actions| actions.return_turn(&result, disposition)).await
    }

    #[tool(description = "Store a value under a key of this session, such as `phase`.")]
    async fn set(&self, Parameters(arguments): Parameters<SetArguments>) -> CallToolResult {
        self.call(move |actions| actions.set(&arguments.key, &arguments.value)).await
    }

    #[tool(description = "Read the value under a key of this session.")]
    async fn get(&self, Parameters(arguments): Parameters<GetArguments>) -> CallToolResult {
        self.call(move |actions| actions.get(&arguments.key)).await
    }

    #[tool(description = "Ask a person a question and wait for the answer.")]
    async fn ask(
        &self,
        Parameters(arguments): Parameters<AskArguments>,
        context: RequestContext<RoleServer>,
    ) -> CallToolResult {
        let request = self.actions.request_id();
        let AskArguments { question, timeout_seconds } = arguments;
        let answered =
            self.call(move |actions| actions.ask(request, (&question, timeout_seconds))).await;
        // Harnesses give up on slow tools: an answer that comes after that is left for a wake.
        if answered.is_error != Some(true) && !context.ct.is_cancelled() {
            self.call(move |actions| actions.take(request).map(|()| String::new())).await;
        }
        answered
    }

    #[tool(description = "Add a note to this session.")]
    async fn note(&self, Parameters(arguments): Parameters<NoteArguments>) -> CallToolResult {
        self.call(move |actions| actions.note(&arguments.text)).await
    }

    #[tool(
        description = "Set this session's title and description. Call it first, and again when \
                          the topic changes."
    )]
    async fn register(
        &self,
        Parameters(arguments): Parameters<RegisterArguments>,
    ) -> CallToolResult {
        self.call(move |actions| actions.register(&arguments.title, &arguments.description)).await
    }
}

impl Server {
    /// Runs an action beside the connection, which stays answered while it waits for a disk or a
    /// person.
    async fn call(
        &self,
        action: impl FnOnce(&Actions) -> Result<String, Report> + Send + 'static,
    ) -> CallToolResult {
        let actions = Arc::clone(&self.actions);
        let done = tokio::task::spawn_blocking(move || action(&actions)).await;
        match done {
            Ok(Ok(text)) => CallToolResult::success(vec![ContentBlock::text(text)]),
            Ok(Err(report)) => CallToolResult::error(vec![ContentBlock::text(report.to_string())]),
            Err(error) => {
                let text = format!("creel: the call was cut off: {}", chain(&error));
                CallToolResult::error(vec![ContentBlock::text(text)])
            }
        }
    }
}

#[tool_handler]
impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("creel", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }
}
