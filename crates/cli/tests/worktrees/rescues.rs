//! Nothing that was in a removed worktree is lost.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::scene::{Scene, check_kept, check_refused, files, hash_free, set_mode, write};

#[test]
fn p050_staged_unstaged_and_untracked_work_comes_back() {
    let scene = Scene::new();
    let removed = check_kept(&scene, &[], |dir| {
        write(&dir.join("a.txt"), "staged\n");
        write(&dir.join("added"), "added\n");
        scene.git(dir, &["add", "a.txt", "added"]);
        write(&dir.join("a.txt"), "staged, then changed again\n");
        fs::remove_file(dir.join("src/b.txt")).unwrap();
        write(&dir.join("deep/down/new"), "untracked\n");
        write(&dir.join("empty"), "");
    });
    let found = &removed["rescue"]["description"];
    let counts = ["stagedCount", "unstagedCount", "untrackedCount", "unpushedCount"];
    let counts: Vec<u64> = counts.iter().map(|key| found[*key].as_u64().unwrap()).collect();
    assert_eq!(counts, [2, 2, 2, 0]);
}

#[test]
fn p052_only_untracked_work_comes_back() {
    check_kept(&Scene::new(), &[], |dir| write(&dir.join("only"), "this"));
}

#[test]
fn only_staged_work_comes_back() {
    let scene = Scene::new();
    check_kept(&scene, &[], |dir| {
        write(&dir.join("a.txt"), "staged");
        scene.git(dir, &["add", "a.txt"]);
        scene.git(dir, &["rm", "-q", "--cached", "src/b.txt"]);
    });
}

#[test]
fn what_was_staged_and_undone_in_the_files_comes_back() {
    let scene = Scene::new();
    check_kept(&scene, &[], |dir| {
        let before = fs::read(dir.join("a.txt")).unwrap();
        write(&dir.join("a.txt"), "only in the index");
        scene.git(dir, &["add", "a.txt"]);
        write(&dir.join("a.txt"), before);
        write(&dir.join("new"), "only in the index");
        scene.git(dir, &["add", "new"]);
        fs::remove_file(dir.join("new")).unwrap();
    });
}

#[test]
fn names_of_any_bytes_come_back() {
    check_kept(&Scene::new(), &[], |dir| {
        for name in [
            &b"caf\xe9"[..],
            b"two\nlines",
            b"tab\there",
            b"\"quoted\"",
            b"back\\slash",
            b" ",
            b"-n",
        ] {
            write(&dir.join(OsStr::from_bytes(name)), name);
            write(&dir.join(OsStr::from_bytes(&[b"dir ", name].concat())).join("x"), name);
        }
        fs::rename(dir.join("a.txt"), dir.join(OsStr::from_bytes(b"moved\n\xff"))).unwrap();
    });
}

#[test]
fn executables_links_and_read_only_files_come_back() {
    check_kept(&Scene::new(), &[], |dir| {
        write(&dir.join("run"), "#!/bin/sh\n");
        set_mode(&dir.join("run"), 0o755);
        set_mode(&dir.join("a.txt"), 0o755);
        symlink("/nowhere/at all", dir.join("dangling")).unwrap();
        symlink("src", dir.join("to-dir")).unwrap();
        write(&dir.join("fixed"), "read-only");
        set_mode(&dir.join("fixed"), 0o444);
        fs::remove_file(dir.join("src/b.txt")).unwrap();
        symlink("../a.txt", dir.join("src/b.txt")).unwrap();
    });
}

#[test]
fn directories_that_their_owner_may_not_change_are_removed_all_the_same() {
    let scene = Scene::new();
    let dir = scene.create("work");
    write(&dir.join("fixed/below/file"), "read-only");
    // Root passes every permission, so another user must try.
    let is_root = owner(scene.env.root()) == 0;
    if is_root {
        let root = scene.env.root().display().to_string();
        scene.env.call_of("chown", &["-R", "65534:65534", &root]).run().success();
    }
    set_mode(&dir.join("fixed/below"), 0o555);
    set_mode(&dir.join("fixed"), 0o555);
    let call = |arguments: &[&str]| {
        let call = scene.env.call(arguments).cwd(scene.repo());
        if is_root { call.user(65534).run() } else { call.run() }
    };
    call(&["worktree", "rm", "work"]).success();
    assert!(!dir.exists());
    let back = call(&["worktree", "rescue", "restore", "work"]).success().stdout;
    let file = Path::new(back.trim_end()).join("fixed/below/file");
    assert_eq!(fs::read_to_string(file).unwrap(), "read-only");
}

fn owner(path: &Path) -> u32 {
    use std::os::unix::fs::MetadataExt as _;
    fs::metadata(path).unwrap().uid()
}

#[test]
fn a_file_that_became_a_directory_and_a_directory_that_became_a_file_come_back() {
    check_kept(&Scene::new(), &[], |dir| {
        fs::remove_file(dir.join("a.txt")).unwrap();
        write(&dir.join("a.txt/below"), "x");
        fs::remove_dir_all(dir.join("src")).unwrap();
        write(&dir.join("src"), "a file now");
    });
}

#[test]
fn line_ends_come_back_as_they_were_whatever_the_attributes_say() {
    let scene = Scene::new();
    scene.commit(&scene.repo(), ".gitattributes", "* text=auto eol=crlf\n*.sh ident\n");
    check_kept(&scene, &[], |dir| {
        write(&dir.join("mixed.txt"), "one\r\ntwo\nthree\r\n");
        write(&dir.join("x.sh"), "$Id: by hand $\n");
    });
}

#[test]
fn a_filter_that_fails_does_not_keep_work_from_being_saved() {
    let scene = Scene::new();
    let repo = scene.repo();
    write(&repo.join(".gitattributes"), "*.bin filter=big\n");
    scene.git(&repo, &["config", "filter.big.clean", "cat"]);
    scene.git(&repo, &["config", "filter.big.smudge", "cat"]);
    scene.git(&repo, &["add", "."]);
    scene.commit(&repo, "x.bin", "content\n");
    let dir = scene.create("work");
    for key in ["clean", "smudge", "process"] {
        scene.git(&repo, &["config", &format!("filter.big.{key}"), "/nowhere/filter"]);
    }
    scene.git(&repo, &["config", "filter.big.required", "true"]);
    write(&dir.join("x.bin"), "changed while the filter is broken\n");
    write(&dir.join("new.bin"), "new\n");
    let before = files(&dir);
    assert!(!scene.git_holds(&dir, &["add", "."]), "git itself can't");
    let removed = scene.json(&["rm", "work"]);
    for key in ["clean", "smudge"] {
        scene.git(&repo, &["config", &format!("filter.big.{key}"), "cat"]);
    }
    scene.git(&repo, &["config", "--unset", "filter.big.process"]);
    let back = scene.restore(removed["rescue"]["id"].as_str().unwrap(), "back");
    assert_eq!(files(&back), before);
}

#[test]
fn a_huge_file_is_saved_and_given_back_in_little_memory() {
    let scene = Scene::new();
    let dir = scene.create("work");
    let size = 320 * 1024 * 1024_u64;
    let file = fs::File::create(dir.join("huge")).unwrap();
    file.set_len(size).unwrap();
    drop(file);
    // Less address space than the file has bytes, for creel and for git.
    let limited = |arguments: &str| {
        let script = format!("ulimit -v 262144 && exec creel worktree {arguments}");
        scene.env.call_of("sh", &["-c", &script]).cwd(scene.repo()).run().success()
    };
    limited("rm work");
    limited("rescue restore work --name back");
    let back = scene.json(&["show", "back"]);
    let huge = Path::new(back["path"].as_str().unwrap()).join("huge");
    assert_eq!(fs::metadata(huge).unwrap().len(), size);
}

#[test]
fn a_sparse_checkout_comes_back() {
    let scene = Scene::new();
    let dir = scene.create("work");
    scene.git(&dir, &["sparse-checkout", "set", "src"]);
    assert!(!dir.join("src/../deep").exists());
    write(&dir.join("src/b.txt"), "changed\n");
    write(&dir.join("src/new"), "new\n");
    let removed = scene.json(&["rm", "work"]);
    let back = scene.restore(removed["rescue"]["id"].as_str().unwrap(), "back");
    assert_eq!(fs::read_to_string(back.join("src/b.txt")).unwrap(), "changed\n");
    assert_eq!(fs::read_to_string(back.join("src/new")).unwrap(), "new\n");
    assert!(back.join("a.txt").exists(), "what was left out of the checkout was not deleted");
}

#[test]
fn work_in_a_partial_clone_comes_back_without_a_network() {
    let scene = Scene::new();
    let origin = scene.env.work_dir().join("origin.git");
    scene.git(&origin, &["config", "uploadpack.allowFilter", "true"]);
    let url = format!("file://{}", origin.display());
    let clone = ["clone", "-q", "--filter=blob:none", &url, "partial"];
    scene.git(&scene.env.work_dir(), &clone);
    let partial = scene.env.work_dir().join("partial");
    let call = |arguments: &[&str]| scene.env.call(arguments).cwd(&partial).run().success().stdout;
    let made = call(&["worktree", "create", "x"]);
    let dir = Path::new(made.trim_end());
    fs::rename(&origin, origin.with_extension("away")).unwrap();
    write(&dir.join("a.txt"), "changed");
    let before = files(dir);
    call(&["worktree", "rm", "x"]);
    let back = call(&["worktree", "rescue", "restore", "x"]);
    assert_eq!(files(Path::new(back.trim_end())), before);
}

#[test]
fn files_that_git_was_told_not_to_look_at_come_back() {
    let scene = Scene::new();
    let dir = scene.create("work");
    scene.git(&dir, &["update-index", "--assume-unchanged", "a.txt"]);
    scene.git(&dir, &["update-index", "--skip-worktree", "src/b.txt"]);
    write(&dir.join("a.txt"), "hidden from status\n");
    write(&dir.join("src/b.txt"), "hidden as well\n");
    let before = files(&dir);
    let removed = scene.json(&["rm", "work"]);
    let back = scene.restore(removed["rescue"]["id"].as_str().unwrap(), "back");
    assert_eq!(files(&back), before);
}

#[test]
fn ignored_files_that_are_nowhere_else_are_refused_named_and_saved_when_asked() {
    let scene = Scene::new();
    write(&scene.repo().join("same.local"), "a copy\n");
    let dir = scene.create("work");
    write(&dir.join(".env"), "SECRET=1\n");
    write(&dir.join("notes/today.md"), "thoughts\n");
    write(&dir.join("same.local"), "a copy\n");
    write(&dir.join("target/debug/x"), "built\n");
    let refused = scene.worktree(&["rm", "work"]);
    check_refused(&refused, (4, "worktree-holds-ignored"));
    insta::assert_snapshot!(hash_free(refused.normal()));
    assert!(scene.rescues().is_empty(), "secrets are not put into objects unasked");
    // Force is about processes: it loses nothing either.
    check_refused(&scene.worktree(&["rm", "work", "--force"]), (4, "worktree-holds-ignored"));
    let removed = scene.json(&["rm", "work", "--with-ignored"]);
    assert_eq!(removed["ignoredLeftCount"], 2, "{removed}");
    let back = scene.restore(removed["rescue"]["id"].as_str().unwrap(), "back");
    assert_eq!(fs::read_to_string(back.join(".env")).unwrap(), "SECRET=1\n");
    assert_eq!(fs::read_to_string(back.join("notes/today.md")).unwrap(), "thoughts\n");
    assert!(!back.join("target").exists());
    write(&back.join("target/debug/x"), "built\n");
    let removed = scene.json(&["rm", "back", "--with-ignored=all"]);
    assert_eq!(removed["ignoredLeftCount"], 0);
    let again = scene.restore(removed["rescue"]["id"].as_str().unwrap(), "again");
    assert!(again.join("target/debug/x").exists());
    let removed = scene.json(&["rm", "again", "--drop-ignored"]);
    assert_eq!(removed["ignoredLeftCount"], 3, "{removed}");
}

#[test]
fn conflicts_come_back_with_all_their_sides() {
    let scene = Scene::new();
    let removed = check_kept(&scene, &[], |dir| {
        scene.git(dir, &["switch", "-q", "-c", "other"]);
        scene.commit(dir, "a.txt", "theirs\n");
        scene.git(dir, &["rm", "-q", "src/b.txt"]);
        scene.git(dir, &["commit", "-qm", "gone there"]);
        scene.git(dir, &["switch", "-q", "work"]);
        scene.commit(dir, "a.txt", "ours\n");
        scene.commit(dir, "src/b.txt", "changed here\n");
        assert!(!scene.git_holds(dir, &["merge", "other"]));
        write(&dir.join("new"), "x");
    });
    let found = &removed["rescue"]["description"];
    assert_eq!((&found["operation"], &found["conflictCount"]), (&"merge".into(), &2.into()));
    // What git kept of the merge is in the rescue.
    let reference = removed["rescue"]["ref"].as_str().unwrap();
    let kept = scene.git(&scene.repo(), &["show", &format!("{reference}^2:git/MERGE_HEAD")]);
    assert_eq!(kept, scene.git(&scene.repo(), &["rev-parse", "other"]));
}

#[test]
fn a_fifo_is_named_as_left_out() {
    let scene = Scene::new();
    let dir = scene.create("work");
    scene.env.call_of("mkfifo", &["pipe"]).cwd(&dir).run().success();
    write(&dir.join("new"), "x");
    let removed = scene.json(&["rm", "work"]);
    // Git itself doesn't list what is no file.
    assert_eq!(removed["rescue"]["description"]["untrackedCount"], 1);
}

#[test]
fn p057_a_dirty_removal_says_in_json_where_the_work_is() {
    let scene = Scene::new();
    let dir = scene.create("work");
    write(&dir.join("a.txt"), "changed");
    let removed = scene.json(&["rm", "work"]);
    let restore = removed["rescue"]["restore"].as_str().unwrap();
    // The printed command works as it is, from anywhere.
    let back = scene.env.call_of("sh", &["-c", restore]).run().success();
    let back = Path::new(back.stdout.trim_end());
    assert_eq!(fs::read_to_string(back.join("a.txt")).unwrap(), "changed");
}

#[test]
fn a_rescue_is_listed_shown_given_back_twice_and_dropped() {
    let scene = Scene::new();
    let dir = scene.create("work");
    write(&dir.join("a.txt"), "changed\n");
    write(&dir.join("new"), "new\n");
    fs::remove_file(dir.join("src/b.txt")).unwrap();
    let removed = scene.worktree(&["rm", "work"]).success();
    let [id] = scene.rescues().try_into().unwrap();
    let commit = scene.git(&scene.repo(), &["rev-parse", &format!("refs/creel/rescue/{id}")]);
    let normal = |text: &str| {
        let head = scene.git(&scene.repo(), &["rev-parse", "main"]);
        let time = id.split_once('/').unwrap().1;
        let text =
            text.replace(time, "<time>").replace(&head, "<head>").replace(&commit, "<commit>");
        hash_free(&scene.env.normal(&text))
    };
    insta::assert_snapshot!("rm", normal(removed.normal()));
    insta::assert_snapshot!("rescue_list", normal(&scene.worktree(&["rescue", "list"]).stdout));
    let shown = scene.worktree(&["rescue", "show", "work"]).success().stdout;
    insta::assert_snapshot!("rescue_show", normal(&shown));
    let first = scene.json(&["rescue", "restore", "work"]);
    assert_eq!(first["worktree"]["name"], "work");
    assert_eq!(first["worktree"]["branch"], "work");
    let second = scene.json(&["rescue", "restore", &id]);
    assert_eq!(second["worktree"]["name"], "work-restored");
    assert_eq!(second["worktree"]["branch"], "work-restored");
    let taken = scene.worktree(&["rescue", "restore", &id, "--name", "work"]);
    check_refused(&taken, (4, "worktree-exists"));
    insta::assert_snapshot!(
        "rescue_drop",
        normal(&scene.worktree(&["rescue", "drop", &id]).stdout)
    );
    assert!(scene.rescues().is_empty());
    check_refused(&scene.worktree(&["rescue", "show", &id]), (3, "unknown-rescue"));
}

#[test]
fn a_name_with_two_rescues_must_be_told_apart() {
    let scene = Scene::new();
    for text in ["one", "two"] {
        let branch = scene.git_holds(&scene.repo(), &["rev-parse", "--verify", "-q", "work"]);
        let arguments: &[&str] =
            if branch { &["create", "work", "--branch", "work"] } else { &["create", "work"] };
        let dir = scene.worktree(arguments).success().stdout;
        write(&Path::new(dir.trim_end()).join("new"), text);
        scene.worktree(&["rm", "work"]).success();
    }
    assert_eq!(scene.rescues().len(), 2);
    check_refused(&scene.worktree(&["rescue", "restore", "work"]), (4, "ambiguous-rescue"));
}

#[test]
fn a_rescue_that_another_made_is_not_guessed_at() {
    let scene = Scene::new();
    scene.git(&scene.repo(), &["update-ref", "refs/creel/rescue/x/1", "main"]);
    check_refused(&scene.worktree(&["rescue", "restore", "x"]), (5, "foreign-rescue"));
    assert!(scene.worktree(&["rescue", "list"]).success().stdout.contains("another version"));
}
