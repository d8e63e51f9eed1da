//! The stable codes of refusals and errors; each has a page `docs/errors/CODE.md`.

use crate::exit::Exit;

/// What sort of thing went wrong; decides nothing but the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The command line says something that can't be meant.
    Usage,
    /// What was named isn't there.
    NotFound,
    /// A rule says no; nothing was changed.
    Refused,
    /// A file, directory or service that is needed can't be used.
    Unavailable,
    /// Stored bytes are not what was written.
    Corrupt,
    /// Anything else.
    Internal,
}

macro_rules! codes {
    ($($variant:ident => $text:literal $kind:ident;)*) => {
        /// A stable code.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Code {
            $(
                #[doc = concat!("`", $text, "`: see its page.")]
                $variant,
            )*
        }

        impl Code {
            /// Returns the published spelling.
            pub(crate) fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }

            /// Reads the published spelling, as the host says it.
            pub(crate) fn parse(text: &str) -> Option<Self> {
                match text {
                    $($text => Some(Self::$variant),)*
                    _ => None,
                }
            }

            /// Returns what sort of thing went wrong.
            pub(crate) fn kind(self) -> Kind {
                match self {
                    $(Self::$variant => Kind::$kind,)*
                }
            }
        }
    };
}

codes! {
    AlreadyAnswered => "already-answered" Refused;
    AlreadyReturned => "already-returned" Refused;
    AmbiguousId => "ambiguous-id" Refused;
    AmbiguousRescue => "ambiguous-rescue" Refused;
    ApiVersion => "api-version" Unavailable;
    BadBody => "bad-body" Usage;
    BadHost => "bad-host" Refused;
    BadOrigin => "bad-origin" Refused;
    BadToken => "bad-token" Refused;
    BeingEnded => "being-ended" Refused;
    BodyTooLarge => "body-too-large" Refused;
    BranchInUse => "branch-in-use" Refused;
    BranchTaken => "branch-taken" Refused;
    CatalogInvalid => "catalog-invalid" Unavailable;
    ChildrenLive => "children-live" Refused;
    ControlCharacter => "control-character" Refused;
    CredentialsMissing => "credentials-missing" Refused;
    DeliveryOwned => "delivery-owned" Refused;
    Discarded => "discarded" Refused;
    Empty => "empty" Refused;
    ForeignId => "foreign-id" NotFound;
    ForeignRescue => "foreign-rescue" Unavailable;
    ForeignStore => "foreign-store" Unavailable;
    GitFailed => "git-failed" Internal;
    GitMissing => "git-missing" Unavailable;
    HostAbsent => "host-absent" Usage;
    HostFailed => "host-failed" Internal;
    HostRunning => "host-running" Refused;
    HostUnreachable => "host-unreachable" Unavailable;
    Internal => "internal" Internal;
    KeeperUnreachable => "keeper-unreachable" Unavailable;
    KeyTaken => "key-taken" Refused;
    LayoutChanged => "layout-changed" Refused;
    LayoutInvalid => "layout-invalid" Refused;
    MalformedId => "malformed-id" NotFound;
    MaybeAlive => "maybe-alive" Refused;
    NewerStore => "newer-store" Unavailable;
    NoHome => "no-home" Unavailable;
    NoNativeId => "no-native-id" Refused;
    NonUtf8 => "non-utf8" Usage;
    NoOutcome => "no-outcome" Internal;
    NoQuestion => "no-question" Refused;
    NoResult => "no-result" NotFound;
    NoRun => "no-run" Refused;
    NoSession => "no-session" Usage;
    NotARepository => "not-a-repository" Unavailable;
    NotAskable => "not-askable" Refused;
    NotATerminal => "not-a-terminal" Usage;
    NoTerminal => "no-terminal" Refused;
    NotWritten => "not-written" Internal;
    NotYours => "not-yours" Refused;
    OutcomeUnknown => "outcome-unknown" Internal;
    OutputFailed => "output-failed" Internal;
    PathTaken => "path-taken" Refused;
    QuestionGone => "question-gone" NotFound;
    ReadOnlyStore => "read-only-store" Unavailable;
    RepositoryBusy => "repository-busy" Unavailable;
    RescueFailed => "rescue-failed" Internal;
    ReservedKey => "reserved-key" Refused;
    RunLive => "run-live" Refused;
    RuntimeDirUnusable => "runtime-dir-unusable" Unavailable;
    ScopeMismatch => "scope-mismatch" Refused;
    ServiceUnusable => "service-unusable" Unavailable;
    SessionBusy => "session-busy" Unavailable;
    SessionDamaged => "session-damaged" Corrupt;
    SessionExists => "session-exists" Refused;
    SettingsInvalid => "settings-invalid" Unavailable;
    SnapshotInvalid => "snapshot-invalid" Corrupt;
    SpawnFailed => "spawn-failed" Internal;
    StillAlive => "still-alive" Internal;
    StillPending => "still-pending" Internal;
    StoreMissing => "store-missing" Unavailable;
    StoreUnusable => "store-unusable" Unavailable;
    TargetUnavailable => "target-unavailable" Unavailable;
    TerminalSize => "terminal-size" Usage;
    TextUnreadable => "text-unreadable" Usage;
    TooDeep => "too-deep" Refused;
    TooLong => "too-long" Refused;
    TooMany => "too-many" Refused;
    TooSlow => "too-slow" Internal;
    TooWide => "too-wide" Refused;
    TrustByAgent => "trust-by-agent" Refused;
    TrustUnusable => "trust-unusable" Unavailable;
    UnknownCommit => "unknown-commit" NotFound;
    UnknownId => "unknown-id" NotFound;
    UnknownKey => "unknown-key" NotFound;
    UnknownRescue => "unknown-rescue" NotFound;
    UnknownRoute => "unknown-route" NotFound;
    UnknownRun => "unknown-run" NotFound;
    UnknownWorktree => "unknown-worktree" NotFound;
    UnsupportedVersion => "unsupported-version" Unavailable;
    Usage => "usage" Usage;
    WatchFailed => "watch-failed" Unavailable;
    WhichQuestion => "which-question" Refused;
    WorktreeChanging => "worktree-changing" Refused;
    WorktreeDisplaced => "worktree-displaced" Refused;
    WorktreeExists => "worktree-exists" Refused;
    WorktreeGone => "worktree-gone" Refused;
    WorktreeHoldsIgnored => "worktree-holds-ignored" Refused;
    WorktreeHoldsStore => "worktree-holds-store" Refused;
    WorktreeHoldsWork => "worktree-holds-work" Refused;
    WorktreeLocked => "worktree-locked" Refused;
    WorktreeMain => "worktree-main" Refused;
    WorktreeOccupied => "worktree-occupied" Refused;
    WorktreeSessionLive => "worktree-session-live" Refused;
    WorktreeUnusable => "worktree-unusable" Unavailable;
    WrongMethod => "wrong-method" Usage;
    WrongMode => "wrong-mode" Refused;
    WrongState => "wrong-state" Refused;
}

impl Code {
    /// Returns the exit code that goes with it.
    pub(crate) fn exit(self) -> Exit {
        match (self, self.kind()) {
            (Self::NewerStore, _) => Exit::OtherRevision,
            (Self::StillPending, _) => Exit::TimedOut,
            (_, Kind::Usage) => Exit::Usage,
            (_, Kind::NotFound) => Exit::NothingMatched,
            (_, Kind::Refused) => Exit::Refused,
            (_, Kind::Unavailable) => Exit::Unusable,
            (_, Kind::Corrupt | Kind::Internal) => Exit::Failed,
        }
    }
}
