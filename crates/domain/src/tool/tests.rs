use super::*;

fn json(text: &str) -> Json {
    Json::parse(text.as_bytes()).unwrap()
}

fn said(text: &str) -> String {
    match Tool::from_json(&json(text), &[]) {
        Ok(_) => String::new(),
        Err(fault) => fault.to_string(),
    }
}

const LOOK: &str = r#"{"name":"look","description":"Looks.","kind":"http","parameters":{"type":"object"},
    "http":{"method":"GET","url":"https://example.com/","headers":{"Authorization":"Bearer s3cret"},"timeout_ms":900}}"#;

const DESK: &str = r#"{"name":"desk","description":"To a person.","kind":"transfer",
    "transfer":{"targets":[{"name":"front","to":"+5215512345678"}]}}"#;

#[test]
fn a_tool_shows_every_member_and_hides_what_its_headers_hold() {
    let (tool, values) = Tool::from_json(&json(LOOK), &[]).unwrap();
    assert_eq!(
        values,
        [("Authorization".to_owned(), "Bearer s3cret".to_owned())]
    );
    assert_eq!(
        tool.to_json().to_compact(),
        r#"{"name":"look","description":"Looks.","kind":"http","parameters":{"type":"object"},"http":{"method":"GET","url":"https://example.com/","headers":{"Authorization":"***"},"timeout_ms":900},"transfer":null,"mcp":null}"#
    );
    let stored = tool.to_json().to_compact();
    assert_eq!(Tool::from_stored(&stored), Ok(tool));
    let (desk, values) = Tool::from_json(&json(DESK), &[]).unwrap();
    assert!(values.is_empty());
    assert_eq!(
        desk.parameters.to_compact(),
        r#"{"type":"object","properties":{"target":{"type":"string","enum":["front"]}},"required":["target"],"additionalProperties":false}"#
    );
    assert_eq!(Tool::from_stored(&desk.to_json().to_compact()), Ok(desk));
}

#[test]
fn a_patch_keeps_what_it_does_not_name_and_the_values_behind_the_stars() {
    let (tool, values) = Tool::from_json(&json(LOOK), &[]).unwrap();
    let patch =
        r#"{"description":"Sees.","http":{"headers":{"Authorization":"***","X-More":"1"}}}"#;
    let (changed, kept) = tool.merge(&json(patch), &values).unwrap();
    assert_eq!(changed.description, "Sees.");
    assert_eq!(changed.http.as_ref().unwrap().timeout_ms, 900);
    assert_eq!(kept[0], values[0]);
    assert_eq!(kept[1], ("X-More".to_owned(), "1".to_owned()));
    let patch = r#"{"http":{"headers":{"Authorization":null}}}"#;
    assert_eq!(
        changed.merge(&json(patch), &kept).unwrap().1,
        [kept[1].clone()]
    );
    let (desk, _) = Tool::from_json(&json(DESK), &[]).unwrap();
    let patch = r#"{"transfer":{"targets":[{"name":"night","to":"+5215512345678"}]}}"#;
    let (desk, _) = desk.merge(&json(patch), &[]).unwrap();
    assert!(desk.parameters.to_compact().contains(r#""enum":["night"]"#));
    let patch = r#"{"kind":"end_call","transfer":null}"#;
    let (end, _) = desk.merge(&json(patch), &[]).unwrap();
    assert_eq!(
        end.parameters.to_compact(),
        r#"{"type":"object","properties":{}}"#
    );
    let fault = |patch| tool.merge(&json(patch), &values).unwrap_err().to_string();
    assert_eq!(fault(r#"{"id":"x"}"#), "`id`: is read-only");
    assert_eq!(fault(r#"{"name":null}"#), "`name`: must not be null");
    assert_eq!(fault(r#"{"more":null}"#), "`more`: unknown field");
    assert_eq!(
        fault(r#"{"http":null}"#),
        "`http`: is required with the kind `http`"
    );
}

#[test]
fn the_function_of_an_application_is_stored_and_neither_shown_nor_taken() {
    let (mut tool, values) = Tool::from_json(&json(LOOK), &[]).unwrap();
    tool.function = Some("google_calendar.book".to_owned());
    assert_eq!(tool.to_json().get("function"), None);
    assert_eq!(Tool::from_stored(&tool.to_stored()), Ok(tool.clone()));
    let (renamed, _) = tool.merge(&json(r#"{"name":"book"}"#), &values).unwrap();
    assert_eq!(renamed.function, tool.function, "a change keeps it");
    let taken = json(LOOK).merge_patch(&json(r#"{"function":"google_calendar.book"}"#));
    assert_eq!(said(&taken.to_compact()), "`function`: unknown field");
    let patch = json(r#"{"function":"hubspot.log_call"}"#);
    let fault = tool.merge(&patch, &values).unwrap_err();
    assert_eq!(fault.to_string(), "`function`: unknown field");
}

const SHOP: &str = r#"{"name":"shop","description":"The shop.","kind":"mcp","mcp":{"url":"https://example.com/mcp",
    "headers":{"Authorization":"Bearer s3cret"},"functions":["find.order","refund"]}}"#;

#[test]
fn a_server_is_stored_with_its_words_and_shown_without_them() {
    let (mut tool, values) = Tool::from_json(&json(SHOP), &[]).unwrap();
    let shown = r#"{"name":"shop","description":"The shop.","kind":"mcp","parameters":{"type":"object","properties":{}},"http":null,"transfer":null,"mcp":{"url":"https://example.com/mcp","headers":{"Authorization":"***"},"timeout_ms":5000,"functions":["find.order","refund"]}}"#;
    assert_eq!(tool.to_json().to_compact(), shown);
    assert_eq!(tool.name_of("find.order"), "shop__find_order");
    assert_eq!(Tool::from_stored(shown), Ok(tool.clone()));
    tool.described = vec![Described {
        description: "Finds an order.".to_owned(),
        parameters: json(r#"{"type":"object"}"#),
    }];
    assert_eq!(Tool::from_stored(&tool.to_stored()), Ok(tool.clone()));
    assert_eq!(tool.to_json().to_compact(), shown);
    assert_eq!(values[0].1, "Bearer s3cret");
}

#[test]
fn a_header_for_one_server_goes_to_no_other_when_the_kind_changes() {
    let (tool, values) = Tool::from_json(&json(LOOK), &[]).unwrap();
    let becomes = |origin: &str| {
        let patch = format!(
            r#"{{"kind":"mcp","parameters":null,"http":null,"mcp":{{"url":"https://{origin}/mcp","functions":["a"],
                "headers":{{"Authorization":"***"}}}}}}"#
        );
        tool.merge(&json(&patch), &values)
    };
    assert_eq!(becomes("example.com").unwrap().1, values);
    let fault = becomes("example.net").unwrap_err().to_string();
    assert!(
        fault.starts_with("`mcp.headers.Authorization`: `***` stands for a stored value"),
        "{fault}"
    );
}

#[test]
fn faults_name_their_field() {
    let with = |change: &str| {
        let text = json(LOOK).merge_patch(&json(change)).to_compact();
        said(&text)
    };
    assert_eq!(with("{}"), "");
    let name =
        "`name`: must be a lower-case letter, then up to 63 lower-case letters, digits or `_`";
    for bad in ["Look", "1look", "look up", "_look", "lóok"] {
        assert_eq!(with(&format!(r#"{{"name":"{bad}"}}"#)), name, "{bad}");
    }
    assert_eq!(with(&format!(r#"{{"name":"{}"}}"#, "a".repeat(65))), name);
    assert_eq!(with(&format!(r#"{{"name":"{}"}}"#, "a".repeat(64))), "");
    for (change, message) in [
        (r#"{"name":null}"#, "`name`: is required"),
        (r#"{"description":" "}"#, "`description`: must not be blank"),
        (
            r#"{"kind":"shell"}"#,
            "`kind`: must be `http`, `end_call`, `transfer`, `dtmf` or `mcp`",
        ),
        (
            r#"{"kind":"dtmf"}"#,
            "`http`: goes with the kind `http` alone",
        ),
        (
            r#"{"parameters":[]}"#,
            "`parameters`: must be an object: a JSON Schema",
        ),
        (
            r#"{"http":{"method":"TRACE"}}"#,
            "`http.method`: must be `GET`, `POST`, `PUT`, `PATCH` or `DELETE`",
        ),
        (r#"{"http":{"url":null}}"#, "`http.url`: is required"),
        (
            r#"{"http":{"timeout_ms":99}}"#,
            "`http.timeout_ms`: must be an integer from 100 to 10000",
        ),
        (
            r#"{"http":{"timeout_ms":10001}}"#,
            "`http.timeout_ms`: must be an integer from 100 to 10000",
        ),
        (
            r#"{"http":{"headers":{"a b":"x"}}}"#,
            "`http.headers.a b`: must be a header's name of at most 64 characters",
        ),
        (
            r#"{"http":{"headers":{"Host":"x"}}}"#,
            "`http.headers.Host`: is written by the service: leave it out",
        ),
        (
            r#"{"http":{"headers":{"X":"a\nb"}}}"#,
            "`http.headers.X`: must be printable ASCII without a space at either end",
        ),
        (
            r#"{"http":{"headers":{"X":"***"}}}"#,
            "`http.headers.X`: `***` stands for a stored value, and there is none: send the value",
        ),
        (r#"{"http":{"more":1}}"#, "`http.more`: unknown field"),
        (r#"{"more":1}"#, "`more`: unknown field"),
    ] {
        assert_eq!(with(change), message, "{change}");
    }
    let desk = |change: &str| said(&json(DESK).merge_patch(&json(change)).to_compact());
    assert_eq!(
        desk(r#"{"transfer":null}"#),
        "`transfer`: is required with the kind `transfer`"
    );
    assert_eq!(
        desk(r#"{"transfer":{"targets":[]}}"#),
        "`transfer.targets`: must not be empty"
    );
    assert_eq!(
        desk(r#"{"parameters":{"type":"object"}}"#),
        "`parameters`: follows from the kind `transfer`: leave it out"
    );
    let shop = |functions: &str| {
        let change = format!(r#"{{"mcp":{{"functions":{functions}}}}}"#);
        said(&json(SHOP).merge_patch(&json(&change)).to_compact())
    };
    for (functions, message) in [
        ("null", "`mcp.functions`: is required"),
        ("[]", "`mcp.functions`: must not be empty"),
        (
            r#"["a b"]"#,
            "`mcp.functions[0]`: must be a function's name: letters, digits, `_`, `-`, `.` and `/`",
        ),
        (
            r#"["a.b","a_b"]"#,
            "`mcp.functions[1]`: appears more than once",
        ),
    ] {
        assert_eq!(shop(functions), message);
    }
    let long = shop(&format!(r#"["{}"]"#, "a".repeat(59)));
    assert!(
        long.starts_with("`mcp.functions[0]`: is longer than 64 characters behind"),
        "{long}"
    );
    let twice = r#"{"transfer":{"targets":[{"name":"a","to":"+5215512345678"},{"name":"a","to":"+5215512345678"}]}}"#;
    assert_eq!(
        desk(twice),
        "`transfer.targets[1].name`: appears more than once"
    );
}
