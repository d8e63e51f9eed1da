//! The OpenAPI document, made from the table of routes and the shapes in `api`.

use creel_api::host::{
    API_MAJOR, API_MINOR, LayoutEvent, ResetEvent, RunEvent, SessionEvent, StoresEvent,
};
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::http::route::{
    Answer, COMMON_REFUSALS, Method, Parameter, Place, REFUSAL, ROUTES, Route, Shape, shape,
};

/// The kinds of events and what their data is.
const EVENTS: [(&str, Shape); 5] = [
    ("reset", shape::<ResetEvent>),
    ("session", shape::<SessionEvent>),
    ("run", shape::<RunEvent>),
    ("stores", shape::<StoresEvent>),
    ("layout", shape::<LayoutEvent>),
];

/// Returns the document as it is committed.
pub fn text() -> String {
    let mut settings = SchemaSettings::draft2020_12();
    settings.definitions_path = "/components/schemas".into();
    settings.meta_schema = None;
    let mut generator = settings.into_generator();
    let mut paths = Map::new();
    for route in ROUTES {
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[method_name(route.method)] = operation(&route, &mut generator);
    }
    let events: Map<String, Value> = EVENTS
        .iter()
        .map(|(kind, shape)| ((*kind).to_owned(), shape(&mut generator).to_value()))
        .collect();
    let document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Creel host",
            "version": format!("{API_MAJOR}.{API_MINOR}"),
            "description": "Served on the socket `host` of the runtime directory without a token, \
                and on the loopback address with one. Members and routes are only added within a \
                major version; a client of another one, by the header `X-Creel-Api`, is refused.",
        },
        "security": [{ "token": [] }, {}],
        "paths": paths,
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "schemas": generator.take_definitions(true),
        },
        "x-creel-events": events,
    });
    // Plain values always have a JSON form.
    let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
    text.push('\n');
    text
}

fn method_name(method: Method) -> &'static str {
    match method {
        Method::Get => "get",
        Method::Put => "put",
        Method::Post => "post",
    }
}

fn operation(route: &Route, generator: &mut SchemaGenerator) -> Value {
    let mut responses = Map::new();
    responses.insert("200".to_owned(), answer(route.answer, generator));
    let mut refusals: Vec<_> = COMMON_REFUSALS.iter().chain(route.refusals).collect();
    refusals.sort_unstable();
    for (status, about) in refusals {
        let content = json!({ "application/json": { "schema": REFUSAL(generator) } });
        responses.insert(status.to_string(), json!({ "description": about, "content": content }));
    }
    let mut operation = json!({
        "operationId": route.name,
        "summary": route.about,
        "responses": responses,
    });
    if !route.parameters.is_empty() {
        operation["parameters"] = route.parameters.iter().map(parameter).collect();
    }
    if let Some(body) = route.body {
        let content = json!({ "application/json": { "schema": body(generator) } });
        operation["requestBody"] = json!({ "required": true, "content": content });
    }
    operation
}

fn parameter(parameter: &Parameter) -> Value {
    let place = match parameter.place {
        Place::Path => "path",
        Place::Query => "query",
        Place::Header => "header",
    };
    json!({
        "name": parameter.name,
        "in": place,
        "required": parameter.place == Place::Path,
        "description": parameter.about,
        "schema": { "type": "string" },
    })
}

fn answer(answer: Answer, generator: &mut SchemaGenerator) -> Value {
    let (content_type, schema) = match answer {
        Answer::Json(shape) => ("application/json", shape(generator).to_value()),
        Answer::Events => ("text/event-stream", json!({ "type": "string" })),
        Answer::OpenApi => ("application/json", json!({ "type": "object" })),
    };
    json!({ "description": "Done.", "content": { content_type: { "schema": schema } } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_is_what_the_routes_and_shapes_say() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");
        let stored = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            text() == stored,
            "docs/openapi.json is stale: cargo run -- host openapi > docs/openapi.json"
        );
    }

    #[test]
    fn each_route_is_in_the_document_with_its_own_name() {
        let document: Value = serde_json::from_str(&text()).expect("JSON");
        let mut names = std::collections::BTreeSet::new();
        for route in ROUTES {
            let written = &document["paths"][route.path][method_name(route.method)];
            assert_eq!(written["operationId"], route.name);
            assert!(names.insert(route.name), "{} is there twice", route.name);
            for parameter in route.parameters.iter().filter(|it| it.place == Place::Path) {
                assert!(route.path.contains(&format!("{{{}}}", parameter.name)));
            }
        }
        let operations = document["paths"].as_object().expect("paths").values();
        let count: usize = operations.map(|path| path.as_object().map_or(0, Map::len)).sum();
        assert_eq!(count, ROUTES.len());
    }

    #[test]
    fn each_reference_leads_somewhere() {
        fn check(document: &Value, value: &Value) {
            match value {
                Value::Object(object) => {
                    if let Some(Value::String(reference)) = object.get("$ref") {
                        let pointer = reference.strip_prefix('#').expect("a local one");
                        assert!(document.pointer(pointer).is_some(), "{reference}");
                    }
                    object.values().for_each(|below| check(document, below));
                }
                Value::Array(items) => items.iter().for_each(|below| check(document, below)),
                _ => {}
            }
        }
        let document: Value = serde_json::from_str(&text()).expect("JSON");
        check(&document, &document);
    }
}
