//! What an agent finds of signals.

use creel_record::EndReason;

use crate::Test;
use crate::scene::Scene;

pub(crate) fn tests() -> Vec<Test> {
    vec![("signals::nothing_is_blocked_or_ignored_in_an_agent", nothing_is_blocked)]
}

fn nothing_is_blocked() {
    let scene = Scene::new();
    let mut plan = scene.plan("");
    plan.command.program = "/bin/grep".into();
    plan.command.args = ["-E", "^Sig(Blk|Ign)", "/proc/self/status"].map(str::to_owned).to_vec();
    scene.launch(plan).check_end((EndReason::ExitZero, Some(0), None));
    let output = String::from_utf8(scene.output(1)).expect("text");
    // The C library keeps signals 32 and 33 for itself and lets nobody set them.
    let own = 3 << 31;
    let masks: Vec<u64> = output
        .lines()
        .filter_map(|line| line.split('\t').nth(1))
        .map(|mask| u64::from_str_radix(mask, 16).expect("a mask") & !own)
        .collect();
    assert_eq!(masks, [0, 0], "{output}");
}
