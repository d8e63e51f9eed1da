//! Many runs one after the other leave everything where it was.

use std::path::Path;
use std::process::ExitCode;

use creel_keeper::LaunchError;
use creel_record::Mode;

use crate::scene::Scene;
use crate::{Test, home};

/// Runs the rounds in a process of their own, whose descriptors nobody else changes.
pub(crate) const DRIVER: &str = "drive-rounds";

const ROUNDS: usize = 100;

pub(crate) fn tests() -> Vec<Test> {
    vec![("rounds::a_hundred_runs_leave_nothing_behind", hundred)]
}

fn hundred() {
    let dir = std::env::temp_dir().join(format!("cr{}", std::process::id()));
    home::make(&dir);
    let output = home::command(&dir).arg(DRIVER).output().expect("the driver starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(home::left(&dir), vec![]);
    std::fs::remove_dir_all(&dir).expect("can be removed");
}

/// Descriptors of this process, sockets in the runtime directory, and cgroups of runs.
fn counts(dir: &Path) -> (usize, usize, usize) {
    let count = |path: &Path, is_counted: fn(&str) -> bool| {
        std::fs::read_dir(path).map_or(0, |entries| {
            entries
                .filter(|entry| {
                    entry
                        .as_ref()
                        .is_ok_and(|entry| is_counted(&entry.file_name().to_string_lossy()))
                })
                .count()
        })
    };
    let all = |_: &str| true;
    (count(Path::new("/proc/self/fd"), all), count(&dir.join("r"), all), 0)
}

pub(crate) fn drive() -> ExitCode {
    let dir = home::dir();
    let scene = Scene::at(dir.join("scene"), Mode::Interactive);
    let round = |number: usize| {
        let mut plan = scene.plan("setsid sleep 1000 & exit 0");
        if number % 2 == 1 {
            plan.command.program = "/nowhere/agent".into();
        }
        match scene.try_launch(plan) {
            Ok(live) => {
                let run = live.ended();
                assert!(run.cgroup.is_none_or(|group| !Path::new(&group).exists()));
            }
            Err(error) => assert!(matches!(error, LaunchError::SpawnFailed { .. }), "{error:?}"),
        }
    };
    round(0);
    round(1);
    let before = counts(&dir);
    for number in 0..ROUNDS {
        round(number);
    }
    assert_eq!(counts(&dir), before);
    assert_eq!(home::left(&dir).len(), 0);
    ExitCode::SUCCESS
}
