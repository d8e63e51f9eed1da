//! The table of routes: what is served, and what is written about it, come from here alone.

use std::pin::Pin;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use axum::routing::{MethodFilter, on};
use creel_api::host::{ErrorView, HostStatus, SessionsView, StopView, TerminalsView};
use creel_api::inspect::SessionView;
use creel_api::layout::{LayoutChange, LayoutView};
use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::host::Host;
use crate::http::call::Call;
use crate::http::{endpoints, events};
use crate::refusal::Refusal;

/// What a handler comes to.
pub(crate) type Answering = Pin<Box<dyn Future<Output = Result<Response, Refusal>> + Send>>;

/// Makes the schema of a shape.
pub(crate) type Shape = fn(&mut SchemaGenerator) -> Schema;

/// How a route is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Get,
    Put,
    Post,
}

/// Where a parameter stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Path,
    Query,
    Header,
}

/// One parameter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    pub(crate) place: Place,
    pub(crate) about: &'static str,
}

/// What a route answers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Answer {
    Json(Shape),
    /// Server-sent events.
    Events,
    /// The document itself.
    OpenApi,
}

/// One route.
#[derive(Clone, Copy)]
pub(crate) struct Route {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    /// The name of the operation.
    pub(crate) name: &'static str,
    /// What it does, as a sentence.
    pub(crate) about: &'static str,
    pub(crate) parameters: &'static [Parameter],
    pub(crate) body: Option<Shape>,
    pub(crate) answer: Answer,
    /// Statuses of refusals beside those that every route has.
    pub(crate) refusals: &'static [(u16, &'static str)],
    pub(crate) handler: fn(Arc<Host>, Call) -> Answering,
}

/// Refusals that every route has.
pub(crate) const COMMON_REFUSALS: [(u16, &str); 4] = [
    (400, "The request is none, or of another version: `usage`, `bad-body`, `api-version`."),
    (401, "`bad-token`; on the loopback address only."),
    (403, "`bad-host` or `bad-origin`; on the loopback address only."),
    (500, "`internal`."),
];

pub(crate) fn shape<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// The schema of every refusal.
pub(crate) const REFUSAL: Shape = shape::<ErrorView>;

const SESSION_ID: Parameter = Parameter {
    name: "id",
    place: Place::Path,
    about: "The session, by its id or by at least 4 characters of the only one that begins so.",
};

/// Every route. A new one is one entry here.
pub(crate) const ROUTES: [Route; 9] = [
    Route {
        method: Method::Get,
        path: "/v1/host",
        name: "hostStatus",
        about: "Tells how the host stands.",
        parameters: &[],
        body: None,
        answer: Answer::Json(shape::<HostStatus>),
        refusals: &[],
        handler: |host, call| Box::pin(endpoints::status(host, call)),
    },
    Route {
        method: Method::Post,
        path: "/v1/host/stop",
        name: "stopHost",
        about: "Ends the host. No agent ends with it.",
        parameters: &[],
        body: None,
        answer: Answer::Json(shape::<StopView>),
        refusals: &[],
        handler: |host, call| Box::pin(endpoints::stop(host, call)),
    },
    Route {
        method: Method::Get,
        path: "/v1/sessions",
        name: "listSessions",
        about: "Lists the sessions of every watched store, as `creel list --json` does.",
        parameters: &[
            Parameter {
                name: "store",
                place: Place::Query,
                about: "Only the store with this root.",
            },
            Parameter {
                name: "all",
                place: Place::Query,
                about: "`true` lists discarded sessions too.",
            },
            Parameter {
                name: "limit",
                place: Place::Query,
                about: "At most so many for each store; 1000 when nothing is said, never more \
                        than 10000.",
            },
        ],
        body: None,
        answer: Answer::Json(shape::<SessionsView>),
        refusals: &[],
        handler: |host, call| Box::pin(endpoints::sessions(host, call)),
    },
    Route {
        method: Method::Get,
        path: "/v1/sessions/{id}",
        name: "inspectSession",
        about: "Returns everything the record keeps of a session, as `creel inspect --json` does.",
        parameters: &[SESSION_ID],
        body: None,
        answer: Answer::Json(shape::<SessionView>),
        refusals: &[
            (404, "`unknown-id` or `malformed-id`."),
            (409, "`ambiguous-id` or `session-damaged`."),
        ],
        handler: |host, call| Box::pin(endpoints::session(host, call)),
    },
    Route {
        method: Method::Get,
        path: "/v1/terminals",
        name: "listTerminals",
        about: "Lists the living runs with what their keepers say.",
        parameters: &[],
        body: None,
        answer: Answer::Json(shape::<TerminalsView>),
        refusals: &[],
        handler: |host, call| Box::pin(endpoints::terminals(host, call)),
    },
    Route {
        method: Method::Get,
        path: "/v1/layout",
        name: "showLayout",
        about: "Returns the layout.",
        parameters: &[],
        body: None,
        answer: Answer::Json(shape::<LayoutView>),
        refusals: &[],
        handler: |host, call| Box::pin(endpoints::layout(host, call)),
    },
    Route {
        method: Method::Put,
        path: "/v1/layout",
        name: "changeLayout",
        about: "Replaces the layout, if it still has the revision that is named.",
        parameters: &[],
        body: Some(shape::<LayoutChange>),
        answer: Answer::Json(shape::<LayoutView>),
        refusals: &[
            (408, "`too-slow`."),
            (409, "`layout-changed`."),
            (413, "`body-too-large`."),
            (422, "`layout-invalid`."),
        ],
        handler: |host, call| Box::pin(endpoints::change_layout(host, call)),
    },
    Route {
        method: Method::Get,
        path: "/v1/events",
        name: "followEvents",
        about: "Streams what changes, as server-sent events. Without a cursor, or with one that \
                can't be gone on from, the first event is `reset` and carries a snapshot.",
        parameters: &[Parameter {
            name: "last-event-id",
            place: Place::Header,
            about: "The id of the last event that was seen.",
        }],
        body: None,
        answer: Answer::Events,
        refusals: &[],
        handler: |host, call| Box::pin(events::follow(host, call)),
    },
    Route {
        method: Method::Get,
        path: "/v1/openapi.json",
        name: "openApi",
        about: "Returns this document.",
        parameters: &[],
        body: None,
        answer: Answer::OpenApi,
        refusals: &[],
        handler: |host, call| Box::pin(endpoints::openapi(host, call)),
    },
];

/// Makes the router of the table.
pub(crate) fn router(host: &Arc<Host>) -> Router {
    let mut router = Router::new();
    for route in ROUTES {
        let filter = match route.method {
            Method::Get => MethodFilter::GET,
            Method::Put => MethodFilter::PUT,
            Method::Post => MethodFilter::POST,
        };
        let host = Arc::clone(host);
        let handler = move |request: Request<Body>| {
            let host = Arc::clone(&host);
            async move {
                host.touch();
                let answered = match Call::read(request).await {
                    Ok(call) => (route.handler)(host, call).await,
                    Err(refusal) => Err(refusal),
                };
                answered.unwrap_or_else(Response::from)
            }
        };
        router = router.route(route.path, on(filter, handler));
    }
    router
        .fallback(|| async { Response::from(unknown_route()) })
        .method_not_allowed_fallback(|| async { Response::from(wrong_method()) })
}

fn unknown_route() -> Refusal {
    Refusal::new(404, "unknown-route", "nothing is served at this path")
        .next("see the paths in docs/openapi.json")
}

fn wrong_method() -> Refusal {
    Refusal::new(405, "wrong-method", "this path is not asked with this method")
        .next("see the paths in docs/openapi.json")
}
