//! Decisions: `docs/adr/NNNN-title.md`, numbered without gaps, one page each with four questions.

use super::fault::Fault;
use super::tree::Tree;

const FOLDER: &str = "docs/adr";

const HEADINGS: [&str; 4] = ["## Context", "## Choice", "## Rejected", "## Would change our mind"];

/// Finds decisions out of number, or without their title or headings.
pub(crate) fn check(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (index, (name, text)) in tree.in_folder(FOLDER).enumerate() {
        let path = format!("{FOLDER}/{name}");
        let expected = format!("{:04}-", index + 1);
        if !name.starts_with(&expected) || !name.ends_with(".md") {
            faults
                .push(Fault::of(&path, format!("expected a decision named `{expected}title.md`")));
        }
        if !text.starts_with("# ") {
            faults.push(Fault::at(&path, 1, "a decision begins with its title, `# …`"));
        }
        let found: Vec<&str> = text.lines().filter(|line| line.starts_with("## ")).collect();
        if found != HEADINGS {
            let message = format!("expected exactly the headings {}", HEADINGS.join(", "));
            faults.push(Fault::of(&path, message));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::check as run;
    use crate::tidy::fault::printed;
    use crate::tidy::tree::Tree;

    const GOOD: &str =
        "# T\n\n## Context\n\n## Choice\n\n## Rejected\n\n## Would change our mind\n";

    fn check(files: &[(&str, &str)], expected: &[&str]) {
        assert_eq!(printed(&run(&Tree::of(files))), expected);
    }

    #[test]
    fn a_gap_or_a_repeated_number_is_a_fault() {
        check(&[("docs/adr/0001-a.md", GOOD), ("docs/adr/0002-b.md", GOOD)], &[]);
        check(
            &[("docs/adr/0001-a.md", GOOD), ("docs/adr/0003-b.md", GOOD)],
            &["docs/adr/0003-b.md: expected a decision named `0002-title.md`"],
        );
        check(
            &[("docs/adr/0001-a.md", GOOD), ("docs/adr/0001-b.md", GOOD)],
            &["docs/adr/0001-b.md: expected a decision named `0002-title.md`"],
        );
    }

    #[test]
    fn a_missing_title_or_heading_is_a_fault() {
        let text = GOOD.replace("# T", "T").replace("## Rejected\n", "");
        check(
            &[("docs/adr/0001-a.md", &text)],
            &[
                "docs/adr/0001-a.md:1: a decision begins with its title, `# …`",
                "docs/adr/0001-a.md: expected exactly the headings ## Context, ## Choice, \
             ## Rejected, ## Would change our mind",
            ],
        );
    }
}
