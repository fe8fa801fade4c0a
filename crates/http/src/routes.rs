//! Which path and method is answered by which handler.

use actix_web::dev::Handler;
use actix_web::web::{self, ServiceConfig};
use actix_web::{FromRequest, HttpResponse, Responder, Route};

use crate::endpoints::{account, agents, calls, conversations, models, process, webhooks};
use crate::error::ApiError;

/// A path and what answers its methods.
pub(crate) struct Endpoint {
    pub(crate) path: &'static str,
    routes: Vec<(&'static str, Route)>,
}

macro_rules! methods {
    ($($name:ident => $text:literal;)*) => {$(
        fn $name<F, Args>(self, handler: F) -> Self
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
    fn at(path: &'static str) -> Self {
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
        post => "POST";
        patch => "PATCH";
        delete => "DELETE";
    }

    fn with(mut self, method: &'static str, route: Route) -> Self {
        self.routes.push((method, route));
        self
    }

    /// Every other method is 405, with those that would have been right (decision 1.5).
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

/// Every path. Fixed ones stand before those with an id in the same place.
pub(crate) fn table() -> Vec<Endpoint> {
    let at = Endpoint::at;
    vec![
        at("/v1/me").get(account::me),
        at("/v1/models").get(models::list),
        at("/v1/agents").get(agents::list).post(agents::create),
        at("/v1/agents/{id}").get(agents::get).patch(agents::update),
        at("/v1/agents/{id}/publish").post(agents::publish),
        at("/v1/calls").get(calls::list).post(calls::place),
        at("/v1/calls/{id}").get(calls::get),
        at("/v1/calls/{id}/hangup").post(calls::hang_up),
        at("/v1/conversations").get(conversations::list),
        at("/v1/conversations/{id}").get(conversations::get),
        at("/v1/conversations/{id}/turns").get(conversations::turns),
        at("/v1/conversations/{id}/events").get(conversations::events),
        at("/v1/webhooks")
            .get(webhooks::list)
            .post(webhooks::create),
        at("/v1/webhooks/events").get(webhooks::events),
        at("/v1/webhooks/deliveries").get(webhooks::deliveries),
        at("/v1/webhooks/deliveries/{id}").get(webhooks::delivery),
        at("/v1/webhooks/deliveries/{id}/redeliver").post(webhooks::redeliver),
        at("/v1/webhooks/{id}")
            .get(webhooks::get)
            .patch(webhooks::update)
            .delete(webhooks::delete),
        at("/v1/webhooks/{id}/rotate-secret").post(webhooks::rotate),
        at("/v1/webhooks/{id}/test").post(webhooks::test),
        at("/v1/webhooks/{id}/recover").post(webhooks::recover),
        at("/healthz").get(process::healthz),
        at("/readyz").get(process::readyz),
        at("/openapi.json").get(process::openapi),
    ]
}

/// Adds every path, and 404 in the envelope for all others.
pub(crate) fn add(config: &mut ServiceConfig) {
    for endpoint in table() {
        endpoint.add(config);
    }
    config.default_service(web::to(|| async {
        Err::<HttpResponse, _>(ApiError::not_found())
    }));
}
