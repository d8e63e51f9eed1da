//! A disk that is full under a terminal.

use crate::scene::Scene;

/// Runs where a small file system can be mounted by anybody.
const FULL: &str = r#"
mkdir -p "$HOME/.local/share"
mount -t tmpfs -o size=2m tmpfs "$HOME/.local/share" || exit 99
id=$(creel i -d sh 'seq 1 700000; echo flood-"over"; read line; exit 7') || exit 98
until creel terminal search "$id" flood-over; do :; done
creel inspect "$id" | grep -i '^terminal'
creel terminal read "$id" | tail -n 2
find "$HOME/.local/share" -path '*/output/*' -type f -exec rm {} +
creel terminal send "$id" -e
until creel inspect "$id" --json | grep -q '"exitCode":7'; do :; done
echo ended as it should
"#;

#[test]
fn a_full_disk_costs_the_log_and_neither_agent_nor_screen() {
    let scene = Scene::new();
    let arguments = ["--user", "--map-root-user", "--mount", "sh", "-c", FULL];
    let output = scene.env.call_of("unshare", &arguments).run().success();
    assert!(output.stdout.contains("700000\nflood-over"), "{output:?}");
    assert!(output.stdout.contains("ended as it should"), "{output:?}");
}
