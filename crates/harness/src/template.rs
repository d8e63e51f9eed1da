//! Words with placeholders: the only computed part of a recipe.

use std::collections::BTreeMap;

use serde::Deserialize;

/// What a placeholder stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Name {
    SessionId,
    RunId,
    NativeId,
    Model,
    Effort,
    Cwd,
    RunDir,
    OrbRoot,
    CreelExe,
    PromptFile,
    ReturnDir,
    McpFile,
    McpJson,
    RunEnv,
}

const NAMES: [(&str, Name); 14] = [
    ("sessionId", Name::SessionId),
    ("runId", Name::RunId),
    ("nativeId", Name::NativeId),
    ("model", Name::Model),
    ("effort", Name::Effort),
    ("cwd", Name::Cwd),
    ("runDir", Name::RunDir),
    ("orbRoot", Name::OrbRoot),
    ("creelExe", Name::CreelExe),
    ("promptFile", Name::PromptFile),
    ("returnDir", Name::ReturnDir),
    ("mcpFile", Name::McpFile),
    ("mcpJson", Name::McpJson),
    ("runEnv", Name::RunEnv),
];

impl Name {
    pub(crate) fn as_str(self) -> &'static str {
        NAMES.iter().find(|(_, name)| *name == self).map_or("", |(text, _)| text)
    }
}

/// How a value is written into the word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// As it is.
    Plain,
    /// As a JSON string, which is a TOML basic string too.
    Quoted,
    /// As a TOML inline table (for [`Name::RunEnv`]).
    Table,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Value(Name, Form),
}

/// One word of a recipe: text with `{name}`, `{name:quoted}` or `{runEnv:table}` in it; `{{` and
/// `}}` stand for braces.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Template {
    pieces: Vec<Piece>,
}

/// Why a text is no template; the texts follow serde's own "…, expected …" so that one reader
/// splits them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TemplateError {
    #[error("unknown placeholder `{{{0}}}`, expected one of {names}", names = placeholder_list())]
    UnknownName(String),
    #[error("unknown form `{0}`, expected one of `quoted`, `table`")]
    UnknownForm(String),
    #[error("a brace that opens or closes nothing, expected `{{name}}`, `{{{{` or `}}}}`")]
    LoneBrace,
}

fn placeholder_list() -> String {
    NAMES.map(|(text, _)| format!("`{{{text}}}`")).join(", ")
}

impl TryFrom<String> for Template {
    type Error = TemplateError;

    fn try_from(text: String) -> Result<Self, TemplateError> {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut rest = text.as_str();
        while let Some(at) = rest.find(['{', '}']) {
            plain.push_str(&rest[..at]);
            let brace = &rest[at..];
            if let Some(after) = brace.strip_prefix("{{") {
                plain.push('{');
                rest = after;
            } else if let Some(after) = brace.strip_prefix("}}") {
                plain.push('}');
                rest = after;
            } else {
                let (inner, after) = brace
                    .strip_prefix('{')
                    .and_then(|inner| inner.split_once('}'))
                    .ok_or(TemplateError::LoneBrace)?;
                pieces.push(Piece::Text(std::mem::take(&mut plain)));
                pieces.push(placeholder(inner)?);
                rest = after;
            }
        }
        plain.push_str(rest);
        pieces.push(Piece::Text(plain));
        pieces.retain(|piece| !matches!(piece, Piece::Text(text) if text.is_empty()));
        Ok(Self { pieces })
    }
}

fn placeholder(inner: &str) -> Result<Piece, TemplateError> {
    let (name, form) = inner.split_once(':').map_or((inner, None), |(n, f)| (n, Some(f)));
    let form = match form {
        None => Form::Plain,
        Some("quoted") => Form::Quoted,
        Some("table") => Form::Table,
        Some(other) => return Err(TemplateError::UnknownForm(other.to_owned())),
    };
    NAMES
        .iter()
        .find(|(text, _)| *text == name)
        .map(|(_, name)| Piece::Value(*name, form))
        .ok_or_else(|| TemplateError::UnknownName(name.to_owned()))
}

/// The values of one launch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Values {
    texts: BTreeMap<Name, String>,
    run_env: BTreeMap<String, String>,
}

impl Values {
    pub(crate) fn set(&mut self, name: Name, text: impl Into<String>) {
        self.texts.insert(name, text.into());
    }

    pub(crate) fn set_run_env(&mut self, env: BTreeMap<String, String>) {
        self.texts.insert(Name::RunEnv, String::new());
        self.run_env = env;
    }

    pub(crate) fn run_env(&self) -> &BTreeMap<String, String> {
        &self.run_env
    }
}

impl Template {
    /// Returns the word, or the first placeholder that has no value.
    pub(crate) fn render(&self, values: &Values) -> Result<String, Name> {
        let mut word = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => word.push_str(text),
                Piece::Value(name, form) => {
                    let text = values.texts.get(name).ok_or(*name)?;
                    match form {
                        Form::Plain => word.push_str(text),
                        Form::Quoted => word.push_str(&quoted(text)),
                        Form::Table => word.push_str(&table(&values.run_env)),
                    }
                }
            }
        }
        Ok(word)
    }

    /// True for the word `{runEnv}` alone, which stands for a whole table in structured data.
    pub(crate) fn is_run_env(&self) -> bool {
        matches!(self.pieces.as_slice(), [Piece::Value(Name::RunEnv, Form::Plain)])
    }
}

fn quoted(text: &str) -> String {
    // TOML forbids a bare DEL in basic strings, JSON doesn't escape it.
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

fn table(env: &BTreeMap<String, String>) -> String {
    let members: Vec<_> =
        env.iter().map(|(name, value)| format!("{name} = {}", quoted(value))).collect();
    format!("{{{}}}", members.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<&str, &str>) {
        let mut values = Values::default();
        values.set(Name::Model, "m\"1");
        values.set_run_env(BTreeMap::from([("A".to_owned(), "b\u{7f}".to_owned())]));
        let got = Template::try_from(text.to_owned())
            .map_err(|error| error.to_string())
            .and_then(|template| template.render(&values).map_err(|name| name.as_str().to_owned()));
        assert_eq!(got, expected.map(str::to_owned).map_err(str::to_owned), "{text}");
    }

    #[test]
    fn placeholders_are_filled_in_their_form() {
        check("--model={model}", Ok("--model=m\"1"));
        check("model={model:quoted}", Ok(r#"model="m\"1""#));
        check("env={runEnv:table}", Ok(r#"env={A = "b\u007f"}"#));
        check("{{\"*\":1}}", Ok("{\"*\":1}"));
        check("", Ok(""));
    }

    #[test]
    fn a_placeholder_without_a_value_is_named() {
        check("--resume {nativeId}", Err("nativeId"));
    }

    #[test]
    fn what_is_no_template_is_refused() {
        check("{", Err("a brace that opens or closes nothing, expected `{name}`, `{{` or `}}`"));
        check("a}b", Err("a brace that opens or closes nothing, expected `{name}`, `{{` or `}}`"));
        check("{model:xml}", Err("unknown form `xml`, expected one of `quoted`, `table`"));
    }
}
