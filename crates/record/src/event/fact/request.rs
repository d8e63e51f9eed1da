//! Facts that come in from others: questions and answers, messages, rooms.

use serde::{Deserialize, Serialize};

use crate::ids::{RequestId, RunId, TurnId};
use crate::words::QuestionKind;

/// Data of `orbh.request.asked`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestAsked {
    /// The question's id.
    pub request_id: RequestId,
    /// The run that asks; none for a deferred question from outside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// The turn that asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
    /// Whether it holds the run.
    pub kind: QuestionKind,
    /// The question.
    pub question: String,
}

/// Data of `orbh.request.answered`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestAnswered {
    /// The question.
    pub request_id: RequestId,
    /// The answer.
    pub response: String,
}

/// Data of `orbh.request.taken`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AnswerTaken {
    /// The question.
    pub request_id: RequestId,
}

/// Data of `orbh.request.cancelled`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestCancelled {
    /// The question.
    pub request_id: RequestId,
}

/// Data of `orbh.message.received`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MessageReceived {
    /// The text.
    pub text: String,
}

/// Data of `orbh.room.noticed`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RoomNoticed {
    /// The room's name.
    pub room: String,
    /// The room's position that this notice covers.
    pub through_sequence: u64,
    /// A line about it.
    pub text: String,
}
