//! How a widget looks on a customer's page: its attributes, and a drawing of it.

use offhook_services::AgentView;

use super::document::{at, plain};
use crate::prelude::*;

/// The script's own accent color.
const ACCENT: &str = "#1f5fd0";

/// The ground, the bubbles, the lines and the text of a theme, as the script has them.
const LIGHT: [&str; 4] = ["#fff", "#eef1f4", "#d0d7de", "#1b1f24"];
const DARK: [&str; 4] = ["#16191d", "#262c33", "#3a424c", "#f0f3f6"];

/// The choices, of the page's query.
pub(super) struct Look<'a>(pub(super) &'a Fields);

impl Look<'_> {
    fn color(&self) -> &str {
        let color = self.0.text("color");
        let digits = color.strip_prefix('#').unwrap_or_default();
        let is_color = digits.len() == 6 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_color { color } else { ACCENT }
    }

    /// The attributes of the script's tag, each with a space before it.
    pub(super) fn attributes(&self) -> String {
        let chosen = [
            ("color", self.color(), ACCENT),
            ("theme", self.0.text("theme"), "auto"),
            ("position", self.0.text("position"), "right"),
            ("title", self.0.text("title"), ""),
            ("label", self.0.text("label"), ""),
        ];
        let chosen = chosen.into_iter();
        let chosen = chosen.filter(|(_, value, usual)| !value.is_empty() && value != usual);
        chosen
            .map(|(name, value, _)| format!(" data-{name}=\"{}\"", html! { (value) }.0))
            .collect()
    }

    /// The choices, which work without script.
    pub(super) fn form(&self, visitor: &Visitor, path: &str) -> Markup {
        let t = visitor.lang();
        let given = |name| self.0.text(name);
        html! {
            form method="get" action=(path) hx-get=(path) hx-trigger="input delay:200ms, change" hx-select="#look"
                hx-target="#look" hx-swap="outerHTML" {
                div.pairs {
                    (Input::text("color", t.t("Color", "Color")).kind("color").value(self.color()))
                    (Select::new("theme", t.t("Theme", "Tema"))
                        .option("auto", t.t("As the visitor's system", "Como el sistema del visitante"))
                        .option("light", t.t("Light", "Claro")).option("dark", t.t("Dark", "Oscuro"))
                        .chosen(given("theme")))
                    (Select::new("position", t.t("Position", "Posición"))
                        .option("right", t.t("Right", "Derecha")).option("left", t.t("Left", "Izquierda"))
                        .chosen(given("position")))
                    (Input::text("title", t.t("Heading", "Encabezado")).value(given("title")))
                    (Input::text("label", t.t("Button text", "Texto del botón")).value(given("label")))
                }
                noscript { button type="submit" { (t.t("Show", "Mostrar")) } }
            }
        }
    }

    /// The widget on a page.
    pub(super) fn drawing(&self, t: Lang, view: &AgentView) -> Markup {
        let [ground, bubble, line, text] = match self.0.text("theme") {
            "dark" => DARK,
            _ => LIGHT,
        };
        let (accent, on_accent) = (self.color(), readable_on(self.color()));
        let label = self.0.text("label");
        let title = match self.0.text("title") {
            "" => view.agent.name.as_str(),
            title => title,
        };
        let config = view.config.as_ref();
        let greeting = config.and_then(|config| at(config, "first_message"));
        let greeting = greeting.map(plain).unwrap_or_default();
        let width = 34 + label.chars().take(20).count() * 6;
        let (panel, button) = match self.0.text("position") {
            "left" => (16, 16),
            _ => (164, 384 - width),
        };
        html! {
            svg.widget-drawing viewBox="0 0 400 280" role="img" aria-label=(t.t("Preview of the widget", "Vista previa del widget")) {
                rect.widget-page width="400" height="280" rx="8" {}
                @for (y, width) in [(24, 150), (48, 320), (64, 290), (80, 240), (112, 320), (128, 270)] {
                    rect.widget-line x="24" y=(y) width=(width) height=(if y == 24 { 12 } else { 6 }) rx="3" {}
                }
                g transform=(format!("translate({panel} 12)")) {
                    rect width="220" height="214" rx="10" fill=(ground) stroke=(line) {}
                    path d="M0 10a10 10 0 0 1 10-10h200a10 10 0 0 1 10 10v26H0z" fill=(accent) {}
                    text x="12" y="23" fill=(on_accent) font-weight="600" { (cut(title, 28)) }
                    @if !greeting.is_empty() {
                        rect x="12" y="48" width="160" height="26" rx="8" fill=(bubble) {}
                        text x="20" y="65" fill=(text) { (cut(&greeting, 26)) }
                    }
                    rect x="98" y="84" width="110" height="26" rx="8" fill=(accent) {}
                    text x="106" y="101" fill=(on_accent) { (t.t("Hello!", "¡Hola!")) }
                    rect x="12" y="178" width="196" height="26" rx="8" fill="none" stroke=(line) {}
                    text x="20" y="195" fill=(text) opacity=".6" { (t.t("Write a message…", "Escribe un mensaje…")) }
                }
                g transform=(format!("translate({button} 234)")) {
                    rect width=(width) height="34" rx="17" fill=(accent) {}
                    path d="M11 11h12a2 2 0 0 1 2 2v7a2 2 0 0 1-2 2h-6l-4 3v-3h-2a2 2 0 0 1-2-2v-7a2 2 0 0 1 2-2z" fill="none" stroke=(on_accent) stroke-width="1.6" {}
                    text x="30" y="21" fill=(on_accent) { (cut(label, 20)) }
                }
            }
        }
    }
}

fn cut(text: &str, most: usize) -> String {
    match text.chars().count() > most {
        true => text.chars().take(most - 1).chain(['…']).collect(),
        false => text.to_owned(),
    }
}

/// Black or white, as the script chooses.
fn readable_on(color: &str) -> &'static str {
    let part = |at: usize| {
        let part = color
            .get(at..at + 2)
            .and_then(|part| u8::from_str_radix(part, 16).ok());
        let part = f64::from(part.unwrap_or(0)) / 255.0;
        match part <= 0.04045 {
            true => part / 12.92,
            false => ((part + 0.055) / 1.055).powf(2.4),
        }
    };
    let luminance = 0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5);
    match 1.05 / (luminance + 0.05) >= (luminance + 0.05) / 0.0586 {
        true => "#fff",
        false => "#111",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_from_the_script_is_an_attribute() {
        let look = |query: &str| Look(&Fields::parse(query.as_bytes())).attributes();
        assert_eq!(
            look("color=%231f5fd0&theme=auto&position=right&title=&label="),
            ""
        );
        assert_eq!(
            look("color=%23ffcc00&theme=dark&position=left&title=%22A%22&label=Ask"),
            " data-color=\"#ffcc00\" data-theme=\"dark\" data-position=\"left\" data-title=\"&quot;A&quot;\" data-label=\"Ask\""
        );
        assert_eq!(look("color=red"), "");
        assert_eq!(
            (readable_on("#ffcc00"), readable_on(ACCENT)),
            ("#111", "#fff")
        );
    }
}
