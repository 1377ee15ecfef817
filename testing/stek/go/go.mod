module crossing

go 1.19
