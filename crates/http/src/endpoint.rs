//! A route of the table: a path, and its handler for each method.

use actix_web::dev::Handler;
use actix_web::http::Method;
use actix_web::web::{self, ServiceConfig};
use actix_web::{FromRequest, HttpResponse, Responder, Route};

use crate::ApiError;

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
    pub(crate) fn add(self, config: &mut ServiceConfig) {
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
