DROP TABLE batch_slice_calls;
DROP TABLE batch_slices;
