DROP TABLE half_sign_ins;
DROP TABLE recovery_codes;
DROP TABLE second_factors;
