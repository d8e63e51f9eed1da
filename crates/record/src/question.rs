//! Open questions.

use serde::{Deserialize, Serialize};

use crate::ids::{RequestId, RunId};
use crate::run::TextRef;
use crate::time::Timestamp;
use crate::words::QuestionKind;

/// A question of this session that has no answer yet, or whose answer nobody took yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    /// Its id.
    pub id: RequestId,
    /// Whether it holds its run.
    pub kind: QuestionKind,
    /// The run that asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// The text, in the log.
    pub text: TextRef,
    /// When it was asked.
    pub asked: Timestamp,
    /// The answer, in the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<TextRef>,
}

impl Question {
    /// True while there is no answer.
    pub fn is_open(&self) -> bool {
        self.answer.is_none()
    }
}
