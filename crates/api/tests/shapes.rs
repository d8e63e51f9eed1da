//! The published `--json` shapes, as schemas: a change that isn't an addition shows here.

use creel_api::doctor::DoctorView;
use creel_api::event::EventView;
use creel_api::host::{HostStatus, ResetEvent, SessionsView, TerminalsView};
use creel_api::inspect::SessionView;
use creel_api::layout::{LayoutChange, LayoutView};
use creel_api::maintenance::MaintenanceView;
use creel_api::scope::ScopeView;
use creel_api::session::SessionRow;
use creel_api::store::StoreView;
use creel_api::terminal::{Match, ScreenView, SendView, TerminalRow};
use creel_api::wait::OutcomeView;
use creel_api::worktree::{
    CreatedView, DroppedView, OccupiedView, RemovedView, RescueContentsView, RescueView,
    RestoredView, WorktreeView,
};
use schemars::JsonSchema;

fn check<T: JsonSchema>(name: &str) {
    let mut schema = schemars::schema_for!(T);
    // What a field means is told where it is defined; here only the shape counts.
    strip(schema.ensure_object());
    insta::assert_json_snapshot!(name, schema);
}

fn strip(object: &mut serde_json::Map<String, serde_json::Value>) {
    object.retain(|key, value| key != "description" || !value.is_string());
    for value in object.values_mut() {
        if let Some(below) = value.as_object_mut() {
            strip(below);
        }
    }
}

#[test]
fn every_shape_is_only_added_to() {
    check::<SessionRow>("list");
    check::<SessionView>("inspect");
    check::<OutcomeView>("wait");
    check::<EventView>("events");
    check::<MaintenanceView>("maintenance");
    check::<ScopeView>("scope");
    check::<StoreView>("store");
    check::<HostStatus>("host_status");
    check::<SessionsView>("host_sessions");
    check::<TerminalsView>("host_terminals");
    check::<ResetEvent>("host_reset");
    check::<LayoutView>("layout");
    check::<LayoutChange>("layout_change");
    check::<DoctorView>("doctor");
    check::<TerminalRow>("terminal_list");
    check::<ScreenView>("terminal_read");
    check::<SendView>("terminal_send");
    check::<Match>("terminal_search");
    check::<WorktreeView>("worktree");
    check::<CreatedView>("worktree_create");
    check::<OccupiedView>("worktree_ps");
    check::<RemovedView>("worktree_rm");
    check::<RescueView>("rescue");
    check::<RescueContentsView>("rescue_show");
    check::<RestoredView>("rescue_restore");
    check::<DroppedView>("rescue_drop");
}
