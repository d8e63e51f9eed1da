//! Which crate may depend on which.

use super::fault::Fault;
use super::workspace::{Workspace, short};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Layer {
    Pure,
    Engine,
    Service,
    Face,
}

const LAYERS: [(Layer, &[&str]); 4] = [
    (Layer::Face, &["cli", "tui", "web"]),
    (Layer::Service, &["host", "server", "client"]),
    (Layer::Engine, &["spool", "keeper", "term", "harness", "link", "ledger", "sys"]),
    (Layer::Pure, &["record", "evidence", "delivery", "wire", "api"]),
];

/// Crates outside the layers: they may use any crate, and others may use them in tests only.
const OUTSIDE: [&str; 3] = ["testkit", "bench", "xtask"];

/// The only edges within a layer; `*` stands for every engine.
const SIDEWAYS: [(&str, &str); 3] = [("*", "sys"), ("keeper", "spool"), ("keeper", "term")];

/// Returns the short names of the pure crates.
pub(crate) fn pure() -> &'static [&'static str] {
    LAYERS[3].1
}

/// Finds crates without a place, and edges that don't point down.
pub(crate) fn check(workspace: &Workspace) -> Vec<Fault> {
    let mut faults = Vec::new();
    for package in &workspace.packages {
        let manifest = format!("{}/Cargo.toml", package.folder);
        let from = package.short_name();
        if OUTSIDE.contains(&from) {
            continue;
        }
        let Some(layer) = layer_of(from) else {
            faults.push(Fault::of(&manifest, format!("`{}` has no layer", package.name)));
            continue;
        };
        for dependency in &package.dependencies {
            let Some(to) = dependency.name.strip_prefix("creel-") else { continue };
            if OUTSIDE.contains(&to) {
                if !dependency.is_dev {
                    let message = format!("`{from}` may use `{to}` only as a dev-dependency");
                    faults.push(Fault::of(&manifest, message));
                }
                continue;
            }
            let Some(below) = layer_of(to) else { continue };
            if layer > below || is_drawn_sideways(from, to) {
                continue;
            }
            let direction = if layer == below { "sideways" } else { "upward" };
            let message =
                format!("`{from}` must not depend on `{to}`: the edge points {direction}");
            faults.push(Fault::of(&manifest, message));
        }
    }
    faults
}

fn layer_of(name: &str) -> Option<Layer> {
    LAYERS.iter().find(|(_, names)| names.contains(&short(name))).map(|(layer, _)| *layer)
}

fn is_drawn_sideways(from: &str, to: &str) -> bool {
    let is_engine = layer_of(from) == Some(Layer::Engine);
    SIDEWAYS.iter().any(|(who, whom)| {
        *whom == to && from != to && (*who == from || (*who == "*" && is_engine))
    })
}

#[cfg(test)]
mod tests {
    use super::check as run;
    use crate::tidy::fault::printed;
    use crate::tidy::workspace::Workspace;

    fn check(packages: &[(&str, &[&str])], expected: &[&str]) {
        assert_eq!(printed(&run(&Workspace::of(packages))), expected);
    }

    #[test]
    fn edges_down_and_the_drawn_sideways_edges_pass() {
        check(
            &[
                ("creel-cli", &["creel-keeper", "creel-record", "serde", "dev:creel-testkit"]),
                ("creel-keeper", &["creel-spool", "creel-term", "creel-sys", "creel-api"]),
                ("creel-spool", &["creel-sys", "creel-record"]),
                ("creel-bench", &["creel-spool", "creel-testkit"]),
            ],
            &[],
        );
    }

    #[test]
    fn an_upward_edge_is_a_fault() {
        check(
            &[("creel-record", &["creel-spool"]), ("creel-host", &["dev:creel-cli"])],
            &[
                "crates/record/Cargo.toml: `record` must not depend on `spool`: the edge points upward",
                "crates/host/Cargo.toml: `host` must not depend on `cli`: the edge points upward",
            ],
        );
    }

    #[test]
    fn a_sideways_edge_that_is_not_drawn_is_a_fault() {
        check(
            &[("creel-spool", &["creel-keeper"]), ("creel-api", &["creel-record"])],
            &[
                "crates/spool/Cargo.toml: `spool` must not depend on `keeper`: the edge points sideways",
                "crates/api/Cargo.toml: `api` must not depend on `record`: the edge points sideways",
            ],
        );
    }

    #[test]
    fn testkit_is_for_tests_only() {
        check(
            &[("creel-sys", &["creel-testkit"])],
            &["crates/sys/Cargo.toml: `sys` may use `testkit` only as a dev-dependency"],
        );
    }

    #[test]
    fn a_crate_needs_a_layer() {
        check(&[("creel-new", &[])], &["crates/new/Cargo.toml: `creel-new` has no layer"]);
    }
}
