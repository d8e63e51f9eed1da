//! Every code that a refusal prints has a page, and every page a code.

use super::fault::Fault;
use super::tree::Tree;

/// The table of codes: lines of the form `Name => "code-name"`.
const TABLE: &str = "crates/cli/src/codes.rs";

const PAGES: &str = "docs/errors";

/// Finds codes without a page and pages without a code.
pub(crate) fn check(tree: &Tree) -> Vec<Fault> {
    let table = tree.get(TABLE).map_or("", |file| file.text.as_str());
    let codes: Vec<(usize, &str)> = codes(table).collect();
    let mut faults = Vec::new();
    for (line, code) in &codes {
        if tree.get(&format!("{PAGES}/{code}.md")).is_none() {
            let message = format!("`{code}` has no page `{PAGES}/{code}.md`");
            faults.push(Fault::at(TABLE, *line, message));
        }
    }
    for (name, _) in tree.in_folder(PAGES) {
        let code = name.trim_end_matches(".md");
        if !codes.iter().any(|(_, known)| *known == code) {
            let message = format!("no code `{code}` in `{TABLE}`");
            faults.push(Fault::of(&format!("{PAGES}/{name}"), message));
        }
    }
    faults
}

/// Returns what was not checked, for the report.
pub(crate) fn note(tree: &Tree) -> Option<String> {
    let is_empty = tree.get(TABLE).is_none_or(|file| codes(&file.text).next().is_none());
    is_empty.then(|| format!("no error codes were compared: `{TABLE}` has none"))
}

fn codes(table: &str) -> impl Iterator<Item = (usize, &str)> {
    table.lines().enumerate().filter_map(|(index, line)| {
        let (name, rest) = line.trim().split_once("=>")?;
        let (code, _) = rest.trim().strip_prefix('"')?.split_once('"')?;
        let is_name = !name.is_empty() && !name.contains(['/', '"']);
        let is_code = !code.is_empty()
            && code.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
        (is_name && is_code).then_some((index + 1, code))
    })
}

#[cfg(test)]
mod tests {
    use super::{check as run, note};
    use crate::tidy::fault::printed;
    use crate::tidy::tree::Tree;

    const TABLE: (&str, &str) = (
        "crates/cli/src/codes.rs",
        "// Old => \"gone\"\nSelf::Held => \"session-held\",\n    UNKNOWN => \"unknown-id\",\n",
    );

    fn check(files: &[(&str, &str)], expected: &[&str]) {
        assert_eq!(printed(&run(&Tree::of(files))), expected);
    }

    #[test]
    fn each_code_has_a_page() {
        check(
            &[TABLE, ("docs/errors/session-held.md", "")],
            &["crates/cli/src/codes.rs:3: `unknown-id` has no page `docs/errors/unknown-id.md`"],
        );
    }

    #[test]
    fn each_page_has_a_code() {
        let page = "docs/errors/gone.md";
        check(&[(page, "")], &["docs/errors/gone.md: no code `gone` in `crates/cli/src/codes.rs`"]);
    }

    #[test]
    fn a_check_without_codes_says_so() {
        assert!(note(&Tree::default()).is_some());
        assert!(note(&Tree::of(&[TABLE])).is_none());
    }
}
