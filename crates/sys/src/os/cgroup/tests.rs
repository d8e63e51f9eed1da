use super::*;

use std::io::Read;
use std::process::{Command, Stdio};

const V2: &str = "24 1 0:22 / / rw - ext4 /dev/root rw\n\
    30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
const HYBRID: &str = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n\
    32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
    41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
const ODD: &str =
    "30 24 0:26 /part\\040of /mnt/my\\040groups rw master:1 shared:2 - cgroup2 none rw\n";

/// Checks which directory the two files of `/proc` lead to.
fn check(mountinfo: &str, membership: &str, expected: Option<&str>) {
    let place =
        Mount::find(mountinfo.as_bytes()).and_then(|mount| mount.place(membership.as_bytes()));
    assert_eq!(place.as_deref(), expected.map(Path::new));
}

#[test]
fn the_own_group_is_found_in_every_kind_of_hierarchy() {
    check(V2, "0::/user.slice/a.scope\n", Some("/sys/fs/cgroup/user.slice/a.scope"));
    check(V2, "0::/\n", Some("/sys/fs/cgroup/"));
    check(HYBRID, "9:name=systemd:/x\n2:cpu:/y\n0::/z\n", Some("/sys/fs/cgroup/unified/z"));
    check(ODD, "0::/part of/a b\n", Some("/mnt/my groups/a b"));
}

#[test]
fn a_place_out_of_sight_is_none() {
    check(V2, "9:name=systemd:/x\n", None);
    check(V2, "0::/../other\n", None);
    check(ODD, "0::/elsewhere\n", None);
    check("32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n", "0::/\n", None);
    check("", "0::/\n", None);
    check("broken\n - cgroup2\n", "0::/\n", None);
}

#[test]
fn a_group_holds_what_is_started_in_it_until_that_ends() {
    let name = format!("test-{}", std::process::id());
    let group = match Cgroup::own().and_then(|own| own.create_child(&name)) {
        Ok(group) => group,
        Err(reason) => {
            // The other half of the contract: the reason is one a person can act on.
            assert!(reason.to_string().contains("cgroup"), "{reason}");
            return;
        }
    };
    let below = group.create_child("below").expect("a group below");
    assert!(!group.is_populated().expect("a state"));
    let procs = below.dir().join("cgroup.procs");
    let script = format!("echo $$ > {}; echo joined; exec sleep 1000", procs.display());
    let mut child =
        Command::new("sh").args(["-c", &script]).stdout(Stdio::piped()).spawn().expect("sh");
    let own_pid = i32::try_from(child.id()).expect("a pid");
    let mut joined = [0; 7];
    child.stdout.take().expect("a pipe").read_exact(&mut joined).expect("a joined child");
    assert!(group.is_populated().expect("a state"));
    assert_eq!(group.pids().expect("pids"), [own_pid]);
    assert!(group.remove().is_err(), "it is in use");
    child.kill().expect("our child");
    child.wait().expect("our child");
    assert!(!group.is_populated().expect("a state"));
    assert_eq!(group.pids().expect("pids"), Vec::<i32>::new());
    let again = Cgroup::at(group.dir().to_owned());
    again.remove().expect("an empty group");
    again.remove().expect("it may be gone");
    assert!(!again.is_populated().expect("a state"));
    assert_eq!(again.pids().expect("pids"), Vec::<i32>::new());
}

#[test]
fn a_group_outside_of_every_run_is_found_around_it() {
    let check = |dir: &str, expected: Option<&str>| {
        let found = Cgroup::at(dir.into()).outside_of_runs();
        assert_eq!(found.as_ref().map(Cgroup::dir), expected.map(Path::new), "{dir}");
    };
    check("/sys/fs/cgroup", None);
    check("/sys/fs/cgroup/user.slice/creel-host.service", None);
    check("/sys/fs/cgroup/user.slice/creel-1.scope", None);
    check("/sys/fs/cgroup/user.slice/creel-1", Some("/sys/fs/cgroup/user.slice"));
    check("/sys/fs/cgroup/x/creel-1/creel-2/y", Some("/sys/fs/cgroup/x"));
}
