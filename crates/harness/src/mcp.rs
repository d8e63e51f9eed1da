//! The configuration by which a harness learns of `creel mcp` for one launch.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::template::{Name, Template, Values};

/// Structured data whose strings are templates.
///
/// The string `{runEnv}` alone stands for the table of the run's own variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ConfigTree {
    Text(Template),
    Flag(bool),
    Number(i64),
    List(Vec<ConfigTree>),
    Table(BTreeMap<String, ConfigTree>),
}

impl ConfigTree {
    /// Returns the data as JSON, or the first placeholder that has no value.
    pub(crate) fn render(&self, values: &Values) -> Result<Value, Name> {
        Ok(match self {
            Self::Text(template) if template.is_run_env() => values
                .run_env()
                .iter()
                .map(|(name, value)| (name.clone(), Value::from(value.as_str())))
                .collect(),
            Self::Text(template) => Value::from(template.render(values)?),
            Self::Flag(flag) => Value::from(*flag),
            Self::Number(number) => Value::from(*number),
            Self::List(items) => {
                items.iter().map(|item| item.render(values)).collect::<Result<_, _>>()?
            }
            Self::Table(members) => members
                .iter()
                .map(|(name, item)| Ok((name.clone(), item.render(values)?)))
                .collect::<Result<_, _>>()?,
        })
    }
}

impl<'de> Deserialize<'de> for ConfigTree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = ConfigTree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string, a boolean, a whole number, a list or a table")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<ConfigTree, E> {
        Template::try_from(text.to_owned()).map(ConfigTree::Text).map_err(E::custom)
    }

    fn visit_bool<E: de::Error>(self, flag: bool) -> Result<ConfigTree, E> {
        Ok(ConfigTree::Flag(flag))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<ConfigTree, E> {
        Ok(ConfigTree::Number(number))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<ConfigTree, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(ConfigTree::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ConfigTree, A::Error> {
        let mut members = BTreeMap::new();
        while let Some((name, item)) = map.next_entry()? {
            members.insert(name, item);
        }
        Ok(ConfigTree::Table(members))
    }
}
