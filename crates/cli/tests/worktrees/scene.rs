//! A repository with a remote in a hermetic home, and the one check that nothing is lost.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use creel_testkit::env::{Output, TestEnv};
use serde_json::Value;

/// What git needs to know of a person, and what it must not ask about.
const CONFIG: &str = "[user]\nname = Test\nemail = test@localhost\n[init]\ndefaultBranch = main\n\
    [protocol \"file\"]\nallow = always\n[advice]\ndetachedHead = false\n[commit]\ngpgSign = false\n";

/// A home with the repository `repo`, whose `main` has a commit that is pushed to `origin`.
pub(crate) struct Scene {
    pub(crate) env: TestEnv,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let scene = Self::unborn();
        let repo = scene.repo();
        write(&repo.join("a.txt"), "one\ntwo\nthree\n");
        write(&repo.join("src/b.txt"), "b\n");
        write(&repo.join(".gitignore"), "*.local\n.env\ntarget/\nnotes/\n");
        scene.git(&repo, &["add", "."]);
        scene.git(&repo, &["commit", "-qm", "first"]);
        scene.git(&scene.env.work_dir(), &["init", "-q", "--bare", "origin.git"]);
        let origin = scene.env.work_dir().join("origin.git").display().to_string();
        scene.git(&repo, &["remote", "add", "origin", &origin]);
        scene.git(&repo, &["push", "-q", "-u", "origin", "main"]);
        scene
    }

    /// Makes a home with a repository that has no commit and no remote.
    pub(crate) fn unborn() -> Self {
        let env = TestEnv::new(env!("CARGO_BIN_EXE_creel"));
        write(&env.home().join(".gitconfig"), CONFIG);
        let scene = Self { env };
        scene.git(&scene.env.work_dir(), &["init", "-q", "repo"]);
        scene
    }

    pub(crate) fn repo(&self) -> PathBuf {
        self.env.work_dir().join("repo")
    }

    /// Calls git and returns what it printed, without the newline at the end.
    #[track_caller]
    pub(crate) fn git(&self, dir: &Path, arguments: &[&str]) -> String {
        let output = self.env.call_of("git", arguments).cwd(dir).run().success();
        output.stdout.trim_end_matches('\n').to_owned()
    }

    /// Tells whether git succeeds.
    pub(crate) fn git_holds(&self, dir: &Path, arguments: &[&str]) -> bool {
        self.env.call_of("git", arguments).cwd(dir).run().code == 0
    }

    /// Calls `creel worktree` in the repository.
    pub(crate) fn worktree(&self, arguments: &[&str]) -> Output {
        self.env.call(&[&["worktree"], arguments].concat()).cwd(self.repo()).run()
    }

    /// Calls `creel worktree … --json` and returns what it printed.
    #[track_caller]
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let output = self.worktree(&[arguments, &["--json"]].concat()).success();
        serde_json::from_str(&output.stdout).unwrap()
    }

    /// Makes a worktree and returns where it is.
    #[track_caller]
    pub(crate) fn create(&self, name: &str) -> PathBuf {
        PathBuf::from(self.worktree(&["create", name]).success().stdout.trim_end())
    }

    /// Writes, adds and commits a file.
    #[track_caller]
    pub(crate) fn commit(&self, dir: &Path, file: &str, text: &str) -> String {
        write(&dir.join(file), text);
        self.git(dir, &["add", file]);
        self.git(dir, &["commit", "-qm", file]);
        self.git(dir, &["rev-parse", "HEAD"])
    }

    /// Returns the ids of all rescues.
    #[track_caller]
    pub(crate) fn rescues(&self) -> Vec<String> {
        let output = self.worktree(&["rescue", "list", "--json"]).success();
        let id = |line: &str| {
            let rescue: Value = serde_json::from_str(line).unwrap();
            rescue["id"].as_str().unwrap().to_owned()
        };
        output.stdout.lines().map(id).collect()
    }

    /// Gives a rescue back as the worktree `name` and returns where it is.
    #[track_caller]
    pub(crate) fn restore(&self, id: &str, name: &str) -> PathBuf {
        let restored = self.json(&["rescue", "restore", id, "--name", name]);
        PathBuf::from(restored["worktree"]["path"].as_str().unwrap())
    }

    /// Returns what `git status` says, with the index as it is.
    #[track_caller]
    pub(crate) fn status(&self, dir: &Path) -> String {
        self.git(dir, &["status", "--porcelain=v2", "-z", "--untracked-files=all", "--no-renames"])
    }
}

/// Checks that a worktree which `prepare` worked in is removed, and that everything in it comes
/// back: each file with its bytes, its kind and its executable bit, and the index. Returns what the
/// removal printed.
#[track_caller]
pub(crate) fn check_kept(scene: &Scene, flags: &[&str], prepare: impl FnOnce(&Path)) -> Value {
    let dir = scene.create("work");
    prepare(&dir);
    let (files, status) = (files(&dir), scene.env.call_of("git", STATUS).cwd(&dir).run());
    let main = files_of_main(scene);
    let removed = scene.json(&[&["rm", "work"], flags].concat());
    assert!(!dir.exists(), "{removed}");
    assert!(!scene.worktree(&["list"]).success().stdout.contains("work "), "{removed}");
    let id = removed["rescue"]["id"].as_str().unwrap_or_else(|| panic!("no rescue: {removed}"));
    let back = scene.restore(id, "back");
    assert_eq!(self::files(&back), files);
    let restored = scene.env.call_of("git", STATUS).cwd(&back).run();
    assert_eq!(restored.stdout, status.stdout);
    assert_eq!(files_of_main(scene), main, "the main worktree is as it was");
    removed
}

const STATUS: &[&str] = &[
    "-c",
    "core.quotePath=true",
    "status",
    "--porcelain=v2",
    "--untracked-files=all",
    "--no-renames",
];

fn files_of_main(scene: &Scene) -> BTreeMap<PathBuf, (char, Vec<u8>)> {
    files(&scene.repo())
}

/// Returns everything below a directory but git's own: `x` for executables, `l` for links.
pub(crate) fn files(dir: &Path) -> BTreeMap<PathBuf, (char, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut open = vec![dir.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            let stat = path.symlink_metadata().unwrap();
            let name = path.strip_prefix(dir).unwrap().to_owned();
            if path.file_name().unwrap() == ".git" {
                continue;
            }
            if stat.is_dir() {
                open.push(path);
            } else if stat.is_symlink() {
                use std::os::unix::ffi::OsStrExt as _;
                let target = fs::read_link(&path).unwrap();
                found.insert(name, ('l', target.as_os_str().as_bytes().to_vec()));
            } else {
                let kind = if stat.permissions().mode() & 0o100 == 0 { 'f' } else { 'x' };
                found.insert(name, (kind, fs::read(&path).unwrap()));
            }
        }
    }
    found
}

/// Writes a file, with the directories above it.
pub(crate) fn write(path: &Path, text: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Makes a file executable.
pub(crate) fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Checks that a call is refused with an exit code and a code of ours, in two lines.
#[track_caller]
pub(crate) fn check_refused(output: &Output, (exit, code): (i32, &str)) {
    assert_eq!(output.code, exit, "{output:?}");
    assert_eq!(output.stdout, "", "{output:?}");
    let lines: Vec<&str> = output.stderr.lines().collect();
    assert!(lines.len() == 2 && lines[1].starts_with("Next: "), "{output:?}");
    assert!(lines[0].ends_with(&format!("[{code}]")), "{output:?}");
}

/// Replaces the hash in the name of a repository's directory of worktrees, which differs by run.
pub(crate) fn hash_free(text: &str) -> String {
    let mut parts = text.split("/creel/worktrees/");
    let mut out = parts.next().unwrap().to_owned();
    for part in parts {
        let at = part.find(['/', ' ', '\n']).unwrap_or(part.len());
        let (name, _) = part[..at].rsplit_once('-').unwrap();
        out.push_str(&format!("/creel/worktrees/{name}-<hash>{}", &part[at..]));
    }
    out
}
