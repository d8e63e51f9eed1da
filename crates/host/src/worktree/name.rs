//! What a worktree is called: a directory, a part of a ref, and what a person types.

use std::fmt;
use std::str::FromStr;

/// Characters of a name at most: directories have 255 bytes, and ours get a few more.
const MAX_CHARS: usize = 100;

/// The name of a worktree: letters, digits, `.`, `_` and `-`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(String);

/// A text that is no name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' can't name a worktree: {reason}")]
pub struct NameError {
    /// The text.
    pub text: String,
    /// What is wrong with it.
    pub reason: &'static str,
    /// A name that is like it, when there is one.
    pub suggestion: Option<Name>,
}

impl Name {
    /// Makes a name of any text: what a name can't hold becomes `-`. `None` when nothing is left.
    #[must_use]
    pub fn like(text: &str) -> Option<Self> {
        let mut out = String::new();
        for c in text.chars().take(MAX_CHARS) {
            let c = if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
            let repeats = ".-".contains(c) && out.ends_with(c);
            if !repeats {
                out.push(c);
            }
        }
        let mut trimmed = out.trim_matches(['.', '-']);
        while let Some(shorter) = trimmed.strip_suffix(".lock") {
            trimmed = shorter.trim_end_matches(['.', '-']);
        }
        (!trimmed.is_empty()).then(|| Self(trimmed.to_owned()))
    }

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Name {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let like = Self::like(text);
        if like.as_ref().is_some_and(|name| name.0 == text) {
            return Ok(Self(text.to_owned()));
        }
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        let reason = if text.is_empty() {
            "it is empty"
        } else if text.chars().count() > MAX_CHARS {
            "it is longer than 100 characters"
        } else if !text.chars().all(is_plain) {
            "only letters, digits, '.', '_' and '-' are allowed"
        } else {
            "it begins, ends or goes on in a way that git or a shell takes for something else"
        };
        Err(NameError { text: text.chars().take(MAX_CHARS).collect(), reason, suggestion: like })
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::Name;

    fn check(text: &str, suggestion: Option<&str>) {
        match text.parse::<Name>() {
            Ok(name) => assert_eq!(Some(name.as_str()), suggestion),
            Err(error) => {
                assert_eq!(error.suggestion.as_ref().map(Name::as_str), suggestion, "{error}");
                assert_ne!(error.suggestion.as_ref().map(Name::as_str), Some(text));
            }
        }
    }

    #[test]
    fn a_name_is_a_directory_and_a_part_of_a_ref() {
        check("fix-1.2_a", Some("fix-1.2_a"));
        check("fix the bug", Some("fix-the-bug"));
        check("../../etc", Some("etc"));
        check("a..b", Some("a.b"));
        check("feature/x", Some("feature-x"));
        check("-rf", Some("rf"));
        check("x.lock", Some("x"));
        check(".git", Some("git"));
        check("żółw", Some("w"));
        check("a\nb", Some("a-b"));
        check("", None);
        check("...", None);
        check(&"x".repeat(101), Some(&"x".repeat(100)));
    }

    proptest::proptest! {
        #[test]
        fn what_is_like_a_name_is_one(text in ".{0,120}") {
            if let Some(name) = Name::like(&text) {
                proptest::prop_assert_eq!(name.as_str().parse::<Name>(), Ok(name.clone()));
            }
        }
    }
}
