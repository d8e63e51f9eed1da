mod bounds;
mod rules;

use crate::refusal::Refusal;

/// Compares what a command says with a refusal's code, or `taken`.
fn check<T>(what: &str, told: impl Into<Result<T, Refusal>>, expected: &str) {
    let told = told.into();
    let code = told.as_ref().map_or_else(Refusal::code, |_| "taken");
    assert_eq!(code, expected, "{what}");
}
