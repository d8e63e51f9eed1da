//! The agents, as far as the trials have to know them apart.

/// How a result gets out of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Channel {
    /// By a command in its shell.
    Shell,
    /// By a tool of `creel mcp`.
    Mcp,
}

impl Channel {
    /// Returns the word of the catalog.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Shell => "shell",
            Self::Mcp => "mcp",
        }
    }
}

/// One agent.
#[derive(Debug)]
pub(crate) struct Agent {
    /// Its name, in the catalog and in the lab.
    pub(crate) name: &'static str,
    /// Its spelling of a tool of `creel mcp`, with `NAME` in the tool's place.
    pub(crate) tools: &'static str,
    /// The channel without a profile.
    pub(crate) channel: Channel,
    /// A variable that it gets as a credential.
    pub(crate) credential: &'static str,
    /// Files below a home that its user writes, and that it leaves alone itself.
    pub(crate) configuration: &'static [&'static str],
}

/// Every agent that runs without a terminal.
pub(crate) const AGENTS: [Agent; 7] = [
    Agent {
        name: "claude",
        tools: "mcp__creel__NAME",
        channel: Channel::Shell,
        credential: "ANTHROPIC_API_KEY",
        configuration: &[".claude/settings.json", ".claude/CLAUDE.md"],
    },
    Agent {
        name: "codex",
        tools: "mcp__creel__NAME",
        channel: Channel::Mcp,
        credential: "OPENAI_API_KEY",
        configuration: &[".codex/config.toml", ".codex/AGENTS.md"],
    },
    Agent {
        name: "gemini",
        tools: "mcp_creel_NAME",
        channel: Channel::Shell,
        credential: "GEMINI_API_KEY",
        configuration: &[".gemini/settings.json", ".gemini/GEMINI.md"],
    },
    Agent {
        name: "opencode",
        tools: "creel_NAME",
        channel: Channel::Shell,
        credential: "OPENAI_API_KEY",
        configuration: &[".config/opencode/AGENTS.md"],
    },
    Agent {
        name: "pi",
        tools: "mcp__creel__NAME",
        channel: Channel::Shell,
        credential: "OPENAI_API_KEY",
        configuration: &[".pi/agent/settings.json", ".pi/agent/models.json"],
    },
    Agent {
        name: "qwen",
        tools: "mcp__creel__NAME",
        channel: Channel::Shell,
        credential: "OPENAI_API_KEY",
        configuration: &[".qwen/QWEN.md"],
    },
    Agent {
        name: "copilot",
        tools: "creel-NAME",
        channel: Channel::Shell,
        credential: "COPILOT_PROVIDER_API_KEY",
        configuration: &[".copilot/mcp-config.json", ".copilot/copilot-instructions.md"],
    },
];

impl Agent {
    /// Returns the agent of this name.
    pub(crate) fn named(name: &str) -> &'static Self {
        AGENTS.iter().find(|agent| agent.name == name).expect("it is in the table")
    }

    /// Returns the step of a scripted prompt by which the agent finishes with `result`.
    pub(crate) fn finish(&self, channel: Channel, result: &str) -> String {
        match channel {
            Channel::Shell => format!("[[run creel session return --finish \"{result}\"]]"),
            Channel::Mcp => self.tool("return", &serde_json::json!({ "result": result })),
        }
    }

    /// Returns the step of a scripted prompt by which the agent calls a tool of `creel mcp`.
    pub(crate) fn tool(&self, name: &str, arguments: &serde_json::Value) -> String {
        format!("[[tool {} {arguments}]]", self.tools.replace("NAME", name))
    }
}
