//! The versions that `lab/agent.sh` pins.

use std::collections::BTreeMap;

/// Returns the version of each agent: the script's lines `NAME) echo PACKAGE@VERSION ;;`.
pub(super) fn read(script: &str) -> BTreeMap<String, String> {
    script.lines().filter_map(pin).collect()
}

fn pin(line: &str) -> Option<(String, String)> {
    let (name, rest) = line.trim().split_once(") echo ")?;
    let (package, rest) = rest.split_once(' ')?;
    let (_, version) = package.rsplit_once('@')?;
    let is_pin = rest.trim_start().starts_with(";;")
        && version.starts_with(|c: char| c.is_ascii_digit())
        && !name.contains(' ');
    is_pin.then(|| (name.to_owned(), version.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::read;

    fn check(script: &str, expected: &[(&str, &str)]) {
        let pins = read(script);
        let pins: Vec<_> = pins.iter().map(|(name, pin)| (name.as_str(), pin.as_str())).collect();
        assert_eq!(pins, expected);
    }

    #[test]
    fn only_pinned_packages_are_pins() {
        check(
            "    codex) echo @openai/codex@0.171.0 ;;   # why\n    old) echo old@1.2;;\n\
             \x20   claude) echo \"$(ls a@1 )\" ;;\n    node22) echo node@22 ;;\n\
             \x20   *) echo \"unknown agent: $1\" >&2; exit 2 ;;\n",
            &[("codex", "0.171.0"), ("node22", "22")],
        );
    }

    #[test]
    fn the_lab_pins_every_headless_agent() {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../lab/agent.sh");
        let pins = read(&std::fs::read_to_string(script).unwrap());
        let missing: Vec<_> =
            crate::peers::HEADLESS.iter().filter(|name| !pins.contains_key(**name)).collect();
        assert_eq!(missing, [""; 0].iter().collect::<Vec<_>>());
    }
}
