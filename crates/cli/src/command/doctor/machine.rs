//! What the machine offers.

use std::fs;
use std::path::Path;

use creel_api::doctor::{CheckView, Verdict};
use creel_host::scope::Escape;
use creel_sys::boot;
use creel_sys::cgroup::Cgroup;

use super::{check, check_next};
use crate::report::chain;

pub(super) fn checks() -> Vec<CheckView> {
    vec![systemd(), linger(), cgroup(), clock()]
}

/// Returns the name of this user, by its number in `/etc/passwd`.
pub(super) fn user_name() -> String {
    use std::os::unix::fs::MetadataExt as _;
    let own = fs::metadata("/proc/self").map_or(u32::MAX, |own| own.uid()).to_string();
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let is_own = |line: &&str| line.split(':').nth(2) == Some(own.as_str());
    let name = users.lines().find(is_own).and_then(|line| line.split(':').next());
    name.unwrap_or(&own).to_owned()
}

fn systemd() -> CheckView {
    const NAME: &str = "user systemd";
    match Escape::find() {
        Escape::Scope { systemd_run } => {
            let detail =
                format!("runs; hosts get scopes of their own by {}", systemd_run.display());
            check(NAME, Verdict::Good, detail)
        }
        Escape::Detach if Path::new("/run/systemd/system").exists() => check(
            NAME,
            Verdict::Weak,
            "systemd runs, but no manager of this user, or no systemd-run on PATH: a detach is all \
             there is",
        ),
        Escape::Detach => check(NAME, Verdict::Info, "does not run: a detach is all there is"),
    }
}

fn linger() -> CheckView {
    const NAME: &str = "linger";
    if !Path::new("/run/systemd/system").exists() {
        return check(NAME, Verdict::Info, "means nothing without systemd");
    }
    let user = user_name();
    if Path::new("/var/lib/systemd/linger").join(&user).exists() {
        return check(NAME, Verdict::Good, format!("is on for {user}"));
    }
    let detail = format!("is off for {user}: the last logout ends the user's manager");
    check_next(NAME, Verdict::Weak, (detail, format!("loginctl enable-linger {user}")))
}

/// Makes a group and removes it: to be able to is what counts.
fn cgroup() -> CheckView {
    const NAME: &str = "cgroup v2";
    let name = format!("doctor-{}", std::process::id());
    let made = Cgroup::own().and_then(|own| {
        let around = own.outside_of_runs().unwrap_or_else(|| own.clone());
        around.create_child(&name).or_else(|_| own.create_child(&name))
    });
    match made {
        Ok(group) => match group.remove() {
            Ok(()) => {
                check(NAME, Verdict::Good, "can be written: each run gets a group of its own")
            }
            Err(error) => check(NAME, Verdict::Weak, format!("a group can't be removed: {error}")),
        },
        Err(error) => check(
            NAME,
            Verdict::Weak,
            format!("can't be used ({}): runs are told by session and environment", chain(&error)),
        ),
    }
}

fn clock() -> CheckView {
    const NAME: &str = "boot";
    match boot::boot_id() {
        Ok(id) => {
            let hours = boot::boot_time_ms() / 3_600_000;
            check(NAME, Verdict::Info, format!("{id}, up for {hours} hours"))
        }
        Err(error) => check(NAME, Verdict::Bad, format!("can't be told: {error}")),
    }
}
