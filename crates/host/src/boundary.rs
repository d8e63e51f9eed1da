//! What could end running agents although everything above them is detached: the supervisors whose
//! stop goes by control group.

use std::fs;
use std::path::{Path, PathBuf};

/// What a process is in, as far as it can be told from `/proc` and the file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Surroundings {
    /// Its control group, as `/proc/PID/cgroup` names it.
    pub group: String,
    /// Whether the first process of the machine is systemd.
    pub has_systemd: bool,
    /// Whether we are in a container, and how that is known.
    pub container: Option<&'static str>,
    /// Whether the user's manager goes on after the last logout.
    pub lingers: bool,
}

/// A supervisor whose stop ends more than a detach survives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Boundary {
    /// `none`, `service`, `login-session`, `user-manager` or `container`.
    pub kind: &'static str,
    /// The unit that would be stopped.
    pub unit: Option<String>,
    /// The part of the control group that it stands for; everything below it ends with it.
    pub group: Option<String>,
    /// One sentence.
    pub detail: String,
}

impl Surroundings {
    /// Looks around the calling process.
    pub fn look(user: &str) -> Self {
        let first = fs::read_to_string("/proc/1/comm").unwrap_or_default();
        let is_there = |path: &str| Path::new(path).exists();
        let container = if is_there("/.dockerenv") {
            Some("/.dockerenv is there")
        } else if is_there("/run/.containerenv") {
            Some("/run/.containerenv is there")
        } else if !matches!(
            first.trim(),
            "systemd" | "init" | "openrc-init" | "runit" | "s6-svscan"
        ) {
            Some("the first process is no init")
        } else {
            None
        };
        Self {
            group: group_of(std::process::id()).unwrap_or_default(),
            has_systemd: is_there("/run/systemd/system"),
            container,
            lingers: PathBuf::from("/var/lib/systemd/linger").join(user).exists(),
        }
    }

    /// Tells what is stronger here than a detach.
    pub fn boundary(&self) -> Boundary {
        let none = |detail: &str| Boundary {
            kind: "none",
            unit: None,
            group: None,
            detail: detail.to_owned(),
        };
        if let Some(how) = self.container {
            let detail = format!("a stop of this container ends everything in it ({how})");
            return Boundary { kind: "container", unit: None, group: Some(String::new()), detail };
        }
        if !self.has_systemd {
            return none("no service manager ends processes by control group here");
        }
        let Some((group, unit)) = self.unit() else {
            return none("this process is in no unit; nothing but a reboot ends what is detached");
        };
        let made = |kind, detail: String| Boundary {
            kind,
            unit: Some(unit.clone()),
            group: Some(group.clone()),
            detail,
        };
        let is_session = unit.strip_prefix("session-").is_some_and(|rest| rest.ends_with(".scope"));
        let in_manager = self.group.contains("/user@");
        match () {
            () if is_session => made(
                "login-session",
                format!("a logout ends {unit} whole where logind has KillUserProcesses=yes"),
            ),
            () if unit.starts_with("user@") || (in_manager && unit.ends_with(".scope")) => {
                match self.lingers {
                    true => none(
                        "a scope of its own in a manager that lingers: nothing but a \
                                  reboot, or a stop of that scope, ends it",
                    ),
                    false => made(
                        "user-manager",
                        "the last logout ends the user's manager and everything in it; \
                         `loginctl enable-linger` keeps it"
                            .to_owned(),
                    ),
                }
            }
            () => made(
                "service",
                format!(
                    "a stop of {unit} ends all of its processes, unless it has KillMode=process"
                ),
            ),
        }
    }

    /// Returns the innermost unit, with the group that stands for it.
    fn unit(&self) -> Option<(String, String)> {
        let is_unit = |part: &str| part.ends_with(".service") || part.ends_with(".scope");
        let parts: Vec<&str> = self.group.split('/').collect();
        let at = parts.iter().rposition(|part| is_unit(part))?;
        Some((parts[..=at].join("/"), parts[at].to_owned()))
    }
}

impl Boundary {
    /// Tells whether a stop reaches a process of this control group.
    pub fn reaches(&self, group: &str) -> bool {
        self.group.as_ref().is_some_and(|outer| {
            outer.is_empty() || group == outer || group.starts_with(&format!("{outer}/"))
        })
    }
}

/// Returns the control group of a process.
pub fn group_of(pid: u32) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    text.lines().find_map(|line| line.strip_prefix("0::")).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(group: &str, lingers: bool, expected: (&str, Option<&str>)) {
        let surroundings =
            Surroundings { group: group.to_owned(), has_systemd: true, container: None, lingers };
        let boundary = surroundings.boundary();
        assert_eq!((boundary.kind, boundary.unit.as_deref()), expected, "{group}");
    }

    #[test]
    fn the_innermost_unit_is_the_boundary() {
        check(
            "/user.slice/user-1000.slice/session-4.scope",
            true,
            ("login-session", Some("session-4.scope")),
        );
        check(
            "/user.slice/user-1000.slice/session-4.scope/creel-1",
            false,
            ("login-session", Some("session-4.scope")),
        );
        let manager = "/user.slice/user-1000.slice/user@1000.service";
        check(&format!("{manager}/app.slice/run-1.scope"), true, ("none", None));
        check(
            &format!("{manager}/app.slice/run-1.scope"),
            false,
            ("user-manager", Some("run-1.scope")),
        );
        check(
            &format!("{manager}/app.slice/creel-host.service"),
            true,
            ("service", Some("creel-host.service")),
        );
        check("/system.slice/ci.service", false, ("service", Some("ci.service")));
        check("/", false, ("none", None));
    }

    #[test]
    fn a_stop_reaches_what_is_below_and_nothing_beside() {
        let surroundings = Surroundings {
            group: "/system.slice/ci.service/x".to_owned(),
            has_systemd: true,
            container: None,
            lingers: false,
        };
        let boundary = surroundings.boundary();
        assert!(boundary.reaches("/system.slice/ci.service"));
        assert!(boundary.reaches("/system.slice/ci.service/creel-1"));
        assert!(!boundary.reaches("/system.slice/ci.service2"));
        assert!(!boundary.reaches("/user.slice"));
        let container = Surroundings { container: Some("x"), ..surroundings.clone() }.boundary();
        assert!(container.kind == "container" && container.reaches("/user.slice"));
        let none = Surroundings { has_systemd: false, ..surroundings }.boundary();
        assert!(none.kind == "none" && !none.reaches("/system.slice/ci.service"));
    }
}
