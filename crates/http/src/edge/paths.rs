//! The kinds of paths that the edge distinguishes before routing.

use actix_web::dev::ServiceRequest;

/// The widget's static files.
pub(crate) const WIDGET_FILES: [&str; 2] = ["/widget/v1/offhook.js", "/widget/v1/offhook-audio.js"];

/// Where operations are tools of models.
pub(crate) const MCP: &str = "/mcp";

/// The path as the router reads it: `/v1/%63alls` is `/v1/calls`.
pub(crate) fn routed_path(req: &ServiceRequest) -> &str {
    req.match_info().as_str()
}

pub(super) fn is_v1(path: &str) -> bool {
    is_under(path, "/v1")
}

/// The routes for web pages with a widget, which are not part of the API. The widget's static files are excluded.
pub(super) fn is_widget(path: &str) -> bool {
    is_under(path, "/widget/v1") && !WIDGET_FILES.contains(&path)
}

/// The routes outside the API that cost something. Static files are excluded.
pub(super) fn is_page(path: &str) -> bool {
    is_widget(path)
        || is_under(path, "/docs")
        || path.starts_with("/llms")
        || path == "/readyz"
        || (is_under(path, "/portal") && !is_under(path, "/portal/assets"))
}

pub(super) fn is_under(path: &str, prefix: &str) -> bool {
    path.strip_prefix(prefix)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
