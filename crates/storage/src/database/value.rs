//! Values of parameters and columns, between the domain's types and both databases.

use std::fmt;

use diesel::deserialize::{self, FromSql};
use diesel::pg::{Pg, PgTypeMetadata, PgValue};
use diesel::query_builder::AstPass;
use diesel::result::QueryResult;
use diesel::serialize::{self, IsNull, Output, ToSql};
use diesel::sql_types::{
    Array, BigInt, Binary, Bool, Date, Double, Float, HasSqlType, Integer, Nullable, SmallInt,
    Text, Time,
};
use diesel::sqlite::{Sqlite, SqliteValue};

use super::Db;
use super::types as sql;

/// The type of a parameter: PostgreSQL's OIDs of it and of its array (`pg_type.dat`).
#[derive(Debug, Clone, Copy)]
pub struct Kind(u32, u32);

impl Kind {
    pub(super) const fn array(self) -> Self {
        Self(self.1, 0)
    }

    pub(super) fn metadata(self) -> PgTypeMetadata {
        PgTypeMetadata::new(self.0, self.1)
    }
}

type Fault = Box<dyn std::error::Error + Send + Sync>;

#[derive(Clone)]
pub enum Value {
    Null,
    Bool(bool),
    Integer(i32),
    BigInt(i64),
    Double(f64),
    /// Text and JSON, which is kept as it was written.
    Text(String),
    Bytes(Vec<u8>),
    Uuid([u8; 16]),
    /// Microseconds since 1970.
    Instant(i64),
    /// A one-dimensional array in PostgreSQL's binary form.
    Array(Vec<u8>),
}

/// As PostgreSQL writes it in a statement.
impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("NULL"),
            Self::Bool(is) => write!(f, "{is}"),
            Self::Integer(number) => write!(f, "{number}"),
            Self::BigInt(number) => write!(f, "{number}"),
            Self::Double(number) => write!(f, "{number}"),
            Self::Text(text) => write!(f, "'{}'", text.replace('\'', "''")),
            Self::Bytes(bytes) => write!(f, "{} bytes", bytes.len()),
            Self::Uuid(bytes) => write!(f, "'{}'::uuid", uuid::Uuid::from_bytes(*bytes)),
            Self::Instant(micros) => {
                write!(f, "timestamptz 'epoch' + interval '{micros} microseconds'")
            }
            Self::Array(_) => f.write_str("(an array)"),
        }
    }
}

/// Microseconds from 1970-01-01 to 2000-01-01, the epoch of PostgreSQL's `timestamptz`.
const POSTGRES_EPOCH: i64 = 946_684_800_000_000;

impl Value {
    /// PostgreSQL's binary form; `None` is NULL.
    pub(super) fn encoded(&self) -> Option<Vec<u8>> {
        Some(match self {
            Self::Null => return None,
            Self::Bool(is) => vec![u8::from(*is)],
            Self::Integer(number) => number.to_be_bytes().to_vec(),
            Self::BigInt(number) => number.to_be_bytes().to_vec(),
            Self::Double(number) => number.to_be_bytes().to_vec(),
            Self::Text(text) => text.as_bytes().to_vec(),
            Self::Bytes(bytes) | Self::Array(bytes) => bytes.clone(),
            Self::Uuid(bytes) => bytes.to_vec(),
            Self::Instant(micros) => micros.saturating_sub(POSTGRES_EPOCH).to_be_bytes().to_vec(),
        })
    }

    /// Binds it to an SQLite statement.
    pub(super) fn bind<'b>(&'b self, out: &mut AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        match self {
            Self::Null => out.push_bind_param_value_only::<Nullable<Integer>, _>(&None::<i32>),
            Self::Bool(is) => out.push_bind_param_value_only::<Bool, _>(is),
            Self::Integer(number) => out.push_bind_param_value_only::<Integer, _>(number),
            Self::BigInt(number) | Self::Instant(number) => {
                out.push_bind_param_value_only::<BigInt, _>(number)
            }
            Self::Double(number) => out.push_bind_param_value_only::<Double, _>(number),
            Self::Text(text) => out.push_bind_param_value_only::<Text, _>(text),
            Self::Bytes(bytes) | Self::Array(bytes) => {
                out.push_bind_param_value_only::<Binary, _>(bytes)
            }
            Self::Uuid(bytes) => out.push_bind_param_value_only::<Binary, [u8]>(bytes.as_slice()),
        }
    }
}

/// A field of a row, in its driver's form.
pub enum RawValue<'a> {
    Sqlite(SqliteValue<'a, 'a, 'a>),
    Postgres(PgValue<'a>),
}

impl RawValue<'_> {
    /// Reads it as its driver would.
    fn read<ST, T>(self) -> deserialize::Result<T>
    where
        T: FromSql<ST, Sqlite> + FromSql<ST, Pg>,
    {
        match self {
            Self::Sqlite(value) => FromSql::<ST, Sqlite>::from_sql(value),
            Self::Postgres(value) => FromSql::<ST, Pg>::from_sql(value),
        }
    }
}

macro_rules! kinds {
    ($($sql:ty => $oid:literal, $array:literal;)*) => {$(
        impl HasSqlType<$sql> for Db {
            fn metadata((): &mut ()) -> Kind {
                Kind($oid, $array)
            }
        }
    )*};
}

kinds! {
    Bool => 16, 1000;
    SmallInt => 21, 1005;
    Integer => 23, 1007;
    BigInt => 20, 1016;
    Float => 700, 1021;
    Double => 701, 1022;
    Text => 25, 1009;
    Binary => 17, 1001;
    Date => 1082, 1182;
    Time => 1083, 1183;
    diesel::sql_types::Timestamp => 1114, 1115;
    sql::Uuid => 2950, 2951;
    sql::Instant => 1184, 1185;
    sql::Json => 114, 199;
    sql::Word => 25, 1009;
}

macro_rules! plain {
    ($($sql:ty: $read:ty, $bound:ty, |$value:ident| $into:expr;)*) => {$(
        impl FromSql<$sql, Db> for $read {
            fn from_sql(raw: RawValue<'_>) -> deserialize::Result<Self> {
                raw.read::<$sql, Self>()
            }
        }

        impl ToSql<$sql, Db> for $bound {
            fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Db>) -> serialize::Result {
                let $value = self;
                out.set_value($into);
                Ok(IsNull::No)
            }
        }
    )*};
}

plain! {
    Bool: bool, bool, |is| Value::Bool(*is);
    Integer: i32, i32, |number| Value::Integer(*number);
    BigInt: i64, i64, |number| Value::BigInt(*number);
    Double: f64, f64, |number| Value::Double(*number);
    Text: String, str, |text| Value::Text(text.to_owned());
    Binary: Vec<u8>, [u8], |bytes| Value::Bytes(bytes.to_vec());
}

impl FromSql<sql::Uuid, Db> for uuid::Uuid {
    fn from_sql(raw: RawValue<'_>) -> deserialize::Result<Self> {
        Ok(match raw {
            RawValue::Sqlite(value) => {
                Self::from_slice(&<Vec<u8> as FromSql<Binary, Sqlite>>::from_sql(value)?)?
            }
            RawValue::Postgres(value) => Self::from_slice(value.as_bytes())?,
        })
    }
}

/// Microseconds since 1970.
pub(crate) fn micros(raw: RawValue<'_>) -> deserialize::Result<i64> {
    match raw {
        RawValue::Sqlite(value) => <i64 as FromSql<BigInt, Sqlite>>::from_sql(value),
        RawValue::Postgres(value) => {
            let bytes: [u8; 8] = value.as_bytes().try_into()?;
            Ok(i64::from_be_bytes(bytes).saturating_add(POSTGRES_EPOCH))
        }
    }
}

/// Text, or JSON as it was written.
pub(crate) fn text(raw: RawValue<'_>) -> deserialize::Result<String> {
    match raw {
        RawValue::Sqlite(value) => <String as FromSql<Text, Sqlite>>::from_sql(value),
        RawValue::Postgres(value) => Ok(std::str::from_utf8(value.as_bytes())?.to_owned()),
    }
}

impl<ST> HasSqlType<Array<ST>> for Db
where
    Db: HasSqlType<ST>,
    ST: 'static,
{
    fn metadata(lookup: &mut ()) -> Kind {
        <Self as HasSqlType<ST>>::metadata(lookup).array()
    }
}

/// The value of a parameter.
pub(super) fn bound<ST, T: ToSql<ST, Db> + ?Sized>(value: &T) -> Result<Value, Fault> {
    let mut lookup = ();
    let mut out = Output::<Db>::new(Value::Null, &mut lookup);
    Ok(match value.to_sql(&mut out)? {
        IsNull::Yes => Value::Null,
        IsNull::No => out.into_inner(),
    })
}

/// An array of one dimension, as PostgreSQL's `array_recv` reads it.
pub(super) fn array(element: Kind, values: Vec<Value>) -> Result<Value, Fault> {
    let dimensions = i32::from(!values.is_empty());
    let values: Vec<_> = values.iter().map(Value::encoded).collect();
    let has_null = i32::from(values.iter().any(Option::is_none));
    let mut bytes = Vec::with_capacity(20 + values.len() * 20);
    bytes.extend(dimensions.to_be_bytes());
    bytes.extend(has_null.to_be_bytes());
    bytes.extend(element.0.to_be_bytes());
    if dimensions > 0 {
        bytes.extend(i32::try_from(values.len())?.to_be_bytes());
        bytes.extend(1_i32.to_be_bytes());
    }
    for value in values {
        match value {
            None => bytes.extend((-1_i32).to_be_bytes()),
            Some(value) => {
                bytes.extend(i32::try_from(value.len())?.to_be_bytes());
                bytes.extend(value);
            }
        }
    }
    Ok(Value::Array(bytes))
}

impl<ST, T> ToSql<Array<ST>, Db> for Vec<T>
where
    Db: HasSqlType<ST>,
    T: ToSql<ST, Db>,
    ST: 'static,
{
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Db>) -> serialize::Result {
        let values: Result<_, _> = self.iter().map(bound).collect();
        out.set_value(array(<Db as HasSqlType<ST>>::metadata(&mut ()), values?)?);
        Ok(IsNull::No)
    }
}
