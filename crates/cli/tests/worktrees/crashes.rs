//! Killed at every git call, and called twice at once: nothing is lost, and the next call finishes.

use std::path::Path;

use creel_testkit::env::Output;

use crate::scene::{Scene, check_refused, files, set_mode, write};

/// More git calls than any verb makes.
const MAX_CALLS: u32 = 400;

/// When the caller is killed.
#[derive(Clone, Copy, Debug)]
enum Moment {
    Before,
    After,
}

/// Calls `creel worktree` with a git that kills its caller at the n-th call; none when the verb
/// made fewer.
fn killed(scene: &Scene, arguments: &[&str], (n, moment): (u32, Moment)) -> Option<Output> {
    let bin = scene.env.work_dir().join("shim");
    let count = bin.join("count");
    let (before, after) = match moment {
        Moment::Before => ("kill -9 $PPID; exit 1", ""),
        Moment::After => ("at=1", "[ -n \"$at\" ] && kill -9 $PPID"),
    };
    let script = format!(
        "#!/bin/sh\nn=$(($(cat {count} 2>/dev/null || echo 0) + 1))\necho $n > {count}\n\
         [ $n -eq {n} ] && {{ {before}; }}\n\
         PATH=/usr/local/bin:/usr/bin:/bin git \"$@\"\ncode=$?\n{after}\nexit $code\n",
        count = count.display(),
    );
    write(&bin.join("git"), script);
    set_mode(&bin.join("git"), 0o755);
    write(&count, "0");
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display());
    let call = scene.env.call(&[&["worktree"], arguments].concat()).cwd(scene.repo());
    let output = call.env("PATH", path).run();
    if output.code == 128 + 9 {
        return None;
    }
    Some(output)
}

/// Runs one round for each git call of a verb, until a round isn't cut short any more.
fn each_call(moment: Moment, mut round: impl FnMut((u32, Moment)) -> Option<Output>) {
    for n in 1..MAX_CALLS {
        if let Some(output) = round((n, moment)) {
            assert_eq!(output.code, 0, "{output:?}");
            assert!(n > 5, "the verb was cut short {n} times");
            return;
        }
    }
    panic!("it never ended");
}

fn check_create(moment: Moment) {
    let scene = Scene::new();
    let repo = scene.repo();
    write(&repo.join("a.txt"), "main is dirty");
    let (before, tip) = (files(&repo), scene.git(&repo, &["rev-parse", "main"]));
    each_call(moment, |at| {
        let name = format!("x{}", at.0);
        let output = killed(&scene, &["create", &name], at);
        assert_eq!(files(&repo), before);
        let dir = scene.create(&name);
        assert_eq!(scene.status(&dir), "", "{at:?}");
        assert_eq!(files(&dir).len(), before.len());
        assert_eq!(scene.git(&dir, &["rev-parse", "HEAD"]), tip);
        assert_eq!(scene.git(&dir, &["branch", "--show-current"]), name);
        assert_eq!(scene.git(&repo, &["rev-parse", "main"]), tip);
        assert_eq!(files(&repo), before);
        output
    });
    let left = std::fs::read_dir(repo.join(".git/creel/creating")).unwrap().count();
    assert_eq!(left, 0);
    assert!(scene.git(&repo, &["worktree", "list"]).lines().all(|line| !line.contains("locked")));
}

#[test]
fn a_creation_killed_before_any_git_call_is_finished_by_the_next() {
    check_create(Moment::Before);
}

#[test]
fn a_creation_killed_after_any_git_call_is_finished_by_the_next() {
    check_create(Moment::After);
}

fn check_remove(moment: Moment) {
    let scene = Scene::new();
    each_call(moment, |at| {
        let name = format!("x{}", at.0);
        let dir = scene.create(&name);
        scene.commit(&dir, "committed", "unpushed");
        write(&dir.join("a.txt"), "staged");
        scene.git(&dir, &["add", "a.txt"]);
        write(&dir.join("a.txt"), "and changed");
        write(&dir.join("new"), "untracked");
        let (before, status) = (files(&dir), scene.status(&dir));
        let output = killed(&scene, &["rm", &name], at);
        let again = scene.worktree(&["rm", &name]);
        match again.code {
            0 => {}
            // The first one had finished but for saying so.
            _ => check_refused(&again, (3, "unknown-worktree")),
        }
        assert!(!dir.exists() && !leftover(&dir), "{at:?}");
        let is_whole = |id: &String| {
            let back = scene.restore(id, &format!("back-{}", id.replace('/', "-")));
            (files(&back), scene.status(&back)) == (before.clone(), status.clone())
        };
        let rescues: Vec<String> = scene.rescues();
        let mut own = rescues.iter().filter(|id| id.starts_with(&format!("{name}/")));
        assert!(own.any(is_whole), "{at:?}: {rescues:?}");
        output
    });
}

/// Tells whether files that were moved aside are left.
fn leftover(dir: &Path) -> bool {
    let name = dir.file_name().unwrap().to_string_lossy().into_owned();
    ["removing", "removed"]
        .iter()
        .any(|end| dir.with_file_name(format!(".{name}.creel-{end}")).exists())
}

#[test]
fn a_removal_killed_before_any_git_call_loses_nothing_and_is_finished_by_the_next() {
    check_remove(Moment::Before);
}

#[test]
fn a_removal_killed_after_any_git_call_loses_nothing_and_is_finished_by_the_next() {
    check_remove(Moment::After);
}

#[test]
fn a_creation_that_was_cut_short_can_be_given_up() {
    let scene = Scene::new();
    // The first call that changes something makes the branch.
    for n in 1..MAX_CALLS {
        if killed(&scene, &["create", "x"], (n, Moment::Before)).is_some() {
            panic!("it was never cut short with the intent written");
        }
        if scene.repo().join(".git/creel/creating/x.json").exists() {
            break;
        }
    }
    check_refused(&scene.worktree(&["create", "x", "--branch", "y"]), (4, "worktree-exists"));
    let given_up = scene.worktree(&["rm", "x"]).success();
    assert_eq!(given_up.stdout, "Forgot x, which was never finished.\n");
    check_refused(&scene.worktree(&["rm", "x"]), (3, "unknown-worktree"));
    scene.worktree(&["create", "x", "--branch", "y"]).success();
}

/// Leaves a creation as a git that was killed within `worktree add` leaves it.
fn half_made(scene: &Scene) -> std::path::PathBuf {
    for n in 1..MAX_CALLS {
        assert!(killed(scene, &["create", "x"], (n, Moment::Before)).is_none());
        let admin = scene.repo().join(".git/worktrees/x");
        if admin.exists() {
            write(&admin.join("locked"), "initializing");
            std::fs::remove_file(admin.join("HEAD")).unwrap();
            return admin;
        }
    }
    panic!("git was never asked to make it");
}

#[test]
fn a_worktree_that_git_was_killed_making_is_finished_by_the_next() {
    let scene = Scene::new();
    half_made(&scene);
    let dir = scene.create("x");
    assert_eq!((scene.status(&dir), files(&dir)), (String::new(), files(&scene.repo())));
    scene.worktree(&["rm", "x"]).success();
}

#[test]
fn a_worktree_that_git_was_killed_making_can_be_given_up() {
    let scene = Scene::new();
    let admin = half_made(&scene);
    let given_up = scene.worktree(&["rm", "x"]).success();
    assert_eq!(given_up.stdout, "Forgot x, which was never finished.\n");
    assert!(!admin.exists() && scene.rescues().is_empty());
}

#[test]
fn files_that_were_proven_saved_are_removed_by_the_next() {
    let scene = Scene::new();
    let dir = scene.create("x");
    let aside = dir.with_file_name(".x.creel-removed");
    std::fs::rename(&dir, &aside).unwrap();
    scene.worktree(&["rm", "x"]).success();
    assert!(!aside.exists() && !scene.worktree(&["list"]).stdout.contains("x "));
}

#[test]
fn of_two_removals_at_once_one_removes_and_the_other_says_so() {
    let scene = Scene::new();
    let dir = scene.create("x");
    write(&dir.join("new"), "work");
    let remove = || scene.worktree(&["rm", "x"]);
    let (one, other) = std::thread::scope(|scope| {
        let one = scope.spawn(remove);
        (one.join().unwrap(), remove())
    });
    let both = std::thread::scope(|scope| {
        scene.worktree(&["create", "y"]).success();
        let calls = [
            scope.spawn(|| scene.worktree(&["rm", "y"])),
            scope.spawn(|| scene.worktree(&["rm", "y"])),
        ];
        calls.map(|call| call.join().unwrap())
    });
    assert_eq!((one.code, other.code), (0, 3), "{one:?} {other:?}");
    let mut codes = both.clone().map(|output| output.code);
    codes.sort_unstable();
    assert_eq!(codes, [0, 3], "{both:?}");
    assert_eq!(scene.rescues().len(), 1);
}

#[test]
fn of_many_creations_at_once_each_answers_with_the_one_worktree() {
    let scene = Scene::new();
    let paths: Vec<String> = std::thread::scope(|scope| {
        let calls: Vec<_> = (0..6)
            .map(|_| scope.spawn(|| scene.worktree(&["create", "x"]).success().stdout))
            .collect();
        calls.into_iter().map(|call| call.join().unwrap()).collect()
    });
    assert!(paths.iter().all(|path| *path == paths[0]), "{paths:?}");
    assert_eq!(scene.git(&scene.repo(), &["worktree", "list"]).lines().count(), 2);
}

#[test]
fn files_that_keep_changing_keep_the_worktree() {
    let scene = Scene::new();
    let dir = scene.create("x");
    write(&dir.join("busy"), "0");
    // A git that changes a file whenever files are hashed, as a running agent would.
    let bin = scene.env.work_dir().join("shim");
    let script = format!(
        "#!/bin/sh\nPATH=/usr/local/bin:/usr/bin:/bin\nf={0}/busy\n[ -e $f ] || f={1}/busy\n\
         case \"$*\" in *hash-object*) git \"$@\"; code=$?; echo x >> $f; exit $code;; esac\nexec git \"$@\"\n",
        dir.display(),
        dir.with_file_name(".x.creel-removing").display(),
    );
    write(&bin.join("git"), script);
    set_mode(&bin.join("git"), 0o755);
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display());
    let call = scene.env.call(&["worktree", "rm", "x"]).cwd(scene.repo()).env("PATH", path);
    check_refused(&call.run(), (4, "worktree-changing"));
    assert!(dir.join("busy").exists() && !leftover(&dir));
    assert_eq!(scene.rescues().len(), 0);
    scene.worktree(&["rm", "x"]).success();
}
