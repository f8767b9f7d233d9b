ALTER TABLE kds.message ADD COLUMN details text;
