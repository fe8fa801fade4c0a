//! The route table: the handler of each path and method.

use actix_web::dev::Handler;
use actix_web::http::Method;
use actix_web::web::{self, ServiceConfig};
use actix_web::{FromRequest, HttpResponse, Responder, Route};

use crate::callbacks;
use crate::endpoints::{
    account, agents, analyses, batches, billing, calls, conversations, docs, integrations,
    knowledge, logs, models, numbers, process, team, tools, versions, voices, webhooks,
    widget_door, widget_files, widget_sessions, widgets,
};
use crate::error::ApiError;

/// A path and its handler for each method.
pub(crate) struct Endpoint {
    pub(crate) path: &'static str,
    routes: Vec<(&'static str, Route)>,
}

macro_rules! methods {
    ($($name:ident => $text:literal;)*) => {$(
        pub(crate) fn $name<F, Args>(self, handler: F) -> Self
        where
            F: Handler<Args>,
            Args: FromRequest + 'static,
            F::Output: Responder + 'static,
        {
            self.with($text, web::$name().to(handler))
        }
    )*};
}

impl Endpoint {
    pub(crate) fn at(path: &'static str) -> Self {
        Self {
            path,
            routes: Vec::new(),
        }
    }

    /// The methods, in the order of `Allow`.
    pub(crate) fn methods(&self) -> impl Iterator<Item = &'static str> {
        self.routes.iter().map(|(method, _)| *method)
    }

    methods! {
        get => "GET";
        head => "HEAD";
        post => "POST";
        put => "PUT";
        patch => "PATCH";
        delete => "DELETE";
    }

    /// The preflight that a browser sends before a cross-origin request.
    pub(crate) fn preflight<F, Args>(self, handler: F) -> Self
    where
        F: Handler<Args>,
        Args: FromRequest + 'static,
        F::Output: Responder + 'static,
    {
        self.with("OPTIONS", web::method(Method::OPTIONS).to(handler))
    }

    fn with(mut self, method: &'static str, route: Route) -> Self {
        self.routes.push((method, route));
        self
    }

    /// Adds the routes. Every other method gets 405 with the allowed ones.
    fn add(self, config: &mut ServiceConfig) {
        let allow = self.methods().collect::<Vec<_>>().join(", ");
        let refuse = move || {
            let error = ApiError::method_not_allowed(&allow);
            async { Err::<HttpResponse, _>(error) }
        };
        let mut resource = web::resource(self.path).default_service(web::to(refuse));
        for (_, route) in self.routes {
            resource = resource.route(route);
        }
        config.service(resource);
    }
}

/// Every path. Within a resource, fixed paths come before paths with an id in the same place.
pub(crate) fn table() -> Vec<Endpoint> {
    [
        account::routes(),
        models::routes(),
        tools::routes(),
        agents::routes(),
        versions::routes(),
        widgets::routes(),
        analyses::routes(),
        billing::routes(),
        calls::routes(),
        conversations::routes(),
        knowledge::routes(),
        numbers::routes(),
        batches::routes(),
        logs::routes(),
        voices::routes(),
        webhooks::routes(),
        integrations::routes(),
        team::routes(),
        widget_files::routes(),
        widget_door::routes(),
        widget_sessions::routes(),
        process::routes(),
        docs::routes(),
        callbacks::routes(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Adds every path. All other paths get 404 in the error envelope.
pub(crate) fn add(config: &mut ServiceConfig) {
    let mut table = table();
    // The router tries each in turn: matching an id costs more than comparing a fixed path.
    table.sort_by_key(|endpoint| endpoint.path.contains('{'));
    for endpoint in table {
        endpoint.add(config);
    }
    config.default_service(web::to(|| async {
        Err::<HttpResponse, _>(ApiError::not_found())
    }));
}
